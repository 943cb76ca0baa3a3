import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Primitives
import SignIn
import StorageModel

/// A registration in progress that a browser's cookie is for: only the browser of the sign-in can complete it on the
/// registration page.
struct RegistrationCookie: Sendable {
    /// The handle of ``RegistrationOffer``.
    let handle: Secret
    /// The `code_challenge` of the sign-in's start, if it had one.
    let codeChallenge: String?
    /// Where the browser is sent once the user is registered.
    let location: String
    /// The whole cookie. Who has seen the handle and the challenge cannot make it: see ``hash``.
    let value: Secret

    init?(_ text: Substring) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), maxSplits: 4, omittingEmptySubsequences: false)
            .map(Substring.init)
        guard parts.count == 4, BrowserCookies.isToken(parts[0].utf8),
            parts[1].isEmpty || BrowserCookies.isToken(parts[1].utf8),
            let location = Base64URL.decode(parts[2].utf8).flatMap({ String(validating: $0, as: UTF8.self) })
        else { return nil }
        handle = Secret(String(parts[0]))
        codeChallenge = parts[1].isEmpty ? nil : String(parts[1])
        self.location = location
        value = Secret(String(text))
    }

    /// - Parameter random: 256 bits in base64url, after a last dot.
    init(_ offer: RegistrationOffer, endingAt location: String, random: String) {
        handle = offer.handle
        codeChallenge = offer.codeChallenge
        self.location = location
        // The handle, the challenge or nothing, and the location in base64url.
        let words = Base64URL.encode(Array(location.utf8))
        value = Secret("\(handle.exposed).\(codeChallenge ?? "").\(words).\(random)")
    }

    /// Finds the record of the cookie. The challenge in the cookie takes the place of the verifier, and is not secret:
    /// so a cookie counts only if it was made here.
    var hash: TokenHash { TokenHash(sha256Of: "cookie of a registration\n" + value.exposed) }

    /// Names the registration in its form, so that the form of an earlier registration cannot complete this one. It is
    /// worth nothing without the cookie.
    var formID: String {
        Base64URL.encode(TokenHash(sha256Of: "registration form " + handle.exposed).bytes)
    }
}

extension BrowserCookies {
    private var registrationName: String { prefix + "latchkey_registration" }

    func registration(of request: Request) -> RegistrationCookie? {
        text(registrationName, of: request).flatMap(RegistrationCookie.init)
    }

    func setRegistration(_ cookie: RegistrationCookie, maximumAge: Int64) -> HTTPField {
        field(registrationName, cookie.value.exposed, maximumAge: maximumAge)
    }

    var clearRegistration: HTTPField { field(registrationName, "", maximumAge: 0) }
}

extension EncryptedOneTimeStore.Purpose {
    /// The cookie of a browser in which a user registers, stored to be recognised and never taken.
    static let registeringBrowser = Self("registering browser")
}
