import Primitives
import SignIn
import StorageModel

/// A registration in progress that a browser's cookie is for: only the browser of the sign-in can complete it on the
/// registration page.
struct BrowserRegistration: Sendable {
    /// The handle of ``RegistrationOffer``.
    let handle: Secret
    /// The `code_challenge` of the sign-in's start, if it had one.
    let codeChallenge: String?
    /// Where the browser is sent once the user is registered.
    let location: String
    /// The whole cookie. Only one that this server gave to a browser counts
    /// (``SignIn/Registration/open(_:codeChallenge:in:)``): who has seen the handle and the challenge cannot make it.
    let cookie: Secret

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
        cookie = Secret(String(text))
    }

    /// What the cookie of an offer says, before its random part: the handle, the challenge or nothing, and the
    /// location, each in base64url.
    static func text(of offer: RegistrationOffer, endingAt location: String) -> Secret {
        Secret(
            "\(offer.handle.exposed).\(offer.codeChallenge ?? "").\(Base64URL.encode(Array(location.utf8)))")
    }

    /// Names the registration in its form, so that the form of an earlier registration cannot complete this one. It is
    /// worth nothing without the cookie.
    var formID: String {
        Base64URL.encode(TokenHash(sha256Of: "registration form " + handle.exposed).bytes)
    }
}
