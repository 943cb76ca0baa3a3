import HTTPServer
import HTTPTypes
import Primitives
import SignIn

/// `/register`: the registration of a user who has signed in on a page of this server, without scripts.
///
/// The handle of the registration is in a cookie of the browser, which is set when the sign-in ends. The form has no
/// credential.
extension LatchkeyAPI {
    private static let registrationPagePath = "/register"

    /// Where the browser goes after a sign-in. From this server's sign-in page, a user who must register gets to the
    /// registration page; other frontends have their own form.
    func location(of end: RedirectEnd) -> String {
        guard case .mustRegister = end.result, let url = baseURL.url,
            end.redirectURI.hasSameBytes(as: url + Self.signInPagePath)
        else { return end.location }
        return baseURL.path + Self.registrationPagePath
    }

    /// The cookie of a registration after a redirect sign-in; nil unless it ended at a page of this server's own
    /// origin, in the browser that began it.
    /// - Throws: `temporarily_unavailable`.
    func registrationCookie(
        for offer: RegistrationOffer, _ end: RedirectEnd
    ) async throws(SignInError) -> HTTPField? {
        guard end.clientType == .web || end.clientType == .popup, isOwn(end.redirectURI) else { return nil }
        return try await registrationCookie(for: offer, endingAt: end.locationAfterRegistration)
    }

    /// The same after a sign-in by a call of a page; nil if this server does not know its URL.
    /// - Throws: `temporarily_unavailable`.
    func registrationCookie(for offer: RegistrationOffer) async throws(SignInError) -> HTTPField? {
        guard let url = baseURL.url else { return nil }
        return try await registrationCookie(for: offer, endingAt: url + "/?action=login&status=success")
    }

    private func registrationCookie(
        for offer: RegistrationOffer, endingAt location: String
    ) async throws(SignInError) -> HTTPField {
        let cookie = try await useCases.registration.makeCookie(
            containing: BrowserRegistration.text(of: offer, endingAt: location), seconds: offer.expiresIn)
        return cookies.setRegistration(cookie, maximumAge: offer.expiresIn)
    }

    func showRegistrationPage(_ request: Request) async throws -> Response {
        try await registrationPage(of: request).page.response
    }

    /// Only by the page's own form, in the browser of the sign-in.
    func registerByForm(_ request: Request) async throws -> Response {
        try checkSameOrigin(request)
        try rates.countSignIn(of: request)
        guard case .form(let entries) = try BodyFields(request) else { throw APIError.notAForm }
        var (registration, page) = try await registrationPage(of: request)
        guard entries["registration"]?.hasSameBytes(as: registration.formID) ?? false else {
            page.refusal = .otherRegistration
            return page.response
        }
        for attribute in UserAttribute.allCases { page.entries[attribute] = entries[attribute.registrationName] }
        var form = RegistrationForm(handle: registration.handle)
        form.codeChallenge = registration.codeChallenge
        form.device = DeviceName.of(request)
        form.attributes = page.changes
        do throws(SignInError) {
            let signedIn = try await useCases.registration(form)
            await endFormerSession(of: request)
            var response = Response.redirect(to: registration.location)
            response.headers.append(contentsOf: cookies.setSession(signedIn.tokens))
            response.headers.append(cookies.clearRegistration)
            return response
        } catch {
            switch error.code {
            case .invalidToken: throw registrationOver
            case .userAlreadyExists:
                // Spends the handle.
                var refusal = APIError(error)
                refusal.headers.append(cookies.clearRegistration)
                throw refusal
            default:
                page.refusal = .refused(render(error), error.attributeProblems)
                return page.response
            }
        }
    }

    /// The browser's registration, and its page.
    /// - Throws: 401 if there is none that can be completed.
    private func registrationPage(
        of request: Request
    ) async throws -> (registration: BrowserRegistration, page: RegistrationPage) {
        guard let registration = cookies.registration(of: request),
            let open = try await useCases.registration.open(
                registration.handle, codeChallenge: registration.codeChallenge, in: registration.cookie)
        else { throw registrationOver }
        return (registration, RegistrationPage(registration: open, id: registration.formID, path: baseURL.path))
    }

    private var registrationOver: APIError {
        var error = APIError.registrationOver
        error.headers.append(cookies.clearRegistration)
        return error
    }

    private func isOwn(_ uri: String) -> Bool {
        guard let origin = baseURL.origin else { return false }
        return AppRedirectURI.origin(of: uri) == origin
    }
}

extension APIError {
    static let registrationOver = APIError(
        .unauthorized, "invalid_token", .requestDenied,
        "This browser has no registration in progress: it was completed, has expired, or began in another browser. "
            + "Sign in again.", headers: [.wwwAuthenticate: #"Bearer error="invalid_token""#])
}
