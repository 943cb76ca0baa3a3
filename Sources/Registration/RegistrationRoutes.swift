import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Primitives
import SignIn
import StorageModel

/// `/register`: the registration of a user who has signed in on a page of this server, without scripts.
///
/// The handle of the registration is in a cookie of the browser, which is set when the sign-in ends. The form has no
/// credential.
extension RegisterUser: PageRegistration {
    var path: String { "/register" }

    func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        router.get(path, api.paged { try await page(of: $1, $0).page.response })
        router.post(path, api.paged { try await register($1, $0) })
    }

    func cookie(
        for offer: RegistrationOffer, endingAt location: String, _ api: LatchkeyAPI
    ) async throws(SignInError) -> HTTPField {
        let (environment, records) = (api.useCases.environment, api.useCases.oneTimeStore)
        let cookie = RegistrationCookie(offer, endingAt: location, random: environment.random.token())
        _ = try await records.add(
            records.record(cookie.hash, for: .registeringBrowser, seconds: offer.expiresIn))
        return api.cookies.setRegistration(cookie, maximumAge: offer.expiresIn)
    }

    func clearedCookie(of request: Request, _ api: LatchkeyAPI) -> HTTPField? {
        api.cookies.registration(of: request) == nil ? nil : api.cookies.clearRegistration
    }

    /// Only by the page's own form, in the browser of the sign-in.
    private func register(_ request: Request, _ api: LatchkeyAPI) async throws -> Response {
        try api.checkSameOrigin(request)
        try api.countSignIn(of: request)
        guard case .form(let entries) = try BodyFields(request) else { throw APIError.notAForm }
        var (cookie, page) = try await page(of: request, api)
        guard entries["registration"]?.hasSameBytes(as: cookie.formID) ?? false else {
            page.refusal = .otherRegistration
            return page.response
        }
        for attribute in UserAttribute.allCases { page.entries[attribute] = entries[attribute.registrationName] }
        var form = RegistrationForm(handle: cookie.handle)
        form.codeChallenge = cookie.codeChallenge
        form.device = DeviceName.of(request)
        form.attributes = page.changes
        do throws(SignInError) {
            let signedIn = try await register(form, by: api.useCases.completion)
            await api.endFormerSession(of: request)
            var response = Response.redirect(to: cookie.location)
            response.headers.append(contentsOf: api.cookies.setSession(signedIn.tokens))
            response.headers.append(api.cookies.clearRegistration)
            return response
        } catch {
            switch error.code {
            case .invalidToken: throw APIError.registrationOver(api.cookies)
            case .userAlreadyExists:
                // Spends the handle.
                var refusal = APIError(error)
                refusal.headers.append(api.cookies.clearRegistration)
                throw refusal
            default:
                page.refusal = .refused(api.render(error), error.attributeProblems)
                return page.response
            }
        }
    }

    /// The browser's registration, and its page.
    /// - Throws: 401 if there is none that can be completed.
    private func page(
        of request: Request, _ api: LatchkeyAPI
    ) async throws -> (cookie: RegistrationCookie, page: RegistrationPage) {
        guard let cookie = api.cookies.registration(of: request),
            try await !api.useCases.oneTimeStore.present(among: [cookie.hash]).isEmpty,
            let pending = try await pending(
                cookie.handle, cookie.codeChallenge, by: api.useCases.completion)
        else { throw APIError.registrationOver(api.cookies) }
        let page = RegistrationPage(
            registration: pending, claims: api.useCases.claimsVault.claims(in: pending.claims, of: pending.handle),
            required: rules.requiredAttributes.map(\.attribute), id: cookie.formID, path: api.baseURL.path,
            exit: api.redirects?.signInPage ?? "/")
        return (cookie, page)
    }
}

extension APIError {
    static let registrationOver = APIError(
        .unauthorized, "invalid_token", .requestDenied,
        "This browser has no registration in progress: it was completed, has expired, or began in another browser. "
            + "Sign in again.", headers: [.wwwAuthenticate: #"Bearer error="invalid_token""#])

    fileprivate static func registrationOver(_ cookies: BrowserCookies) -> APIError {
        var error = APIError.registrationOver
        error.headers.append(cookies.clearRegistration)
        return error
    }
}

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
