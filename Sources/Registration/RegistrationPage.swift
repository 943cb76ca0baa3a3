package import HTTPServer
package import HTTPTypes
package import LatchkeyAPI
import OpenIDConnect
import Primitives
package import SignIn
import StorageModel

/// The page `/register`: what the provider sent, and the form to complete it.
struct RegistrationPage {
    enum Refusal {
        /// The form belongs to another registration of the same browser.
        case otherRegistration
        /// An error of the registration, and what is wrong with each attribute.
        case refused(APIError, UserAttributes<String>)
    }

    let registration: PendingRegistration
    /// The provider's further claims, which a registration stores.
    let claims: ConsentedClaims
    let required: [UserAttribute]
    /// ``RegistrationCookie/formID``
    let id: String
    /// The path below which a proxy serves this server.
    let path: String
    /// Where the browser goes if the user does not register, below ``path``.
    let exit: String
    var entries = UserAttributes<String>()
    var refusal: Refusal?

    /// The provider's attributes, which a registration stores unless the form has others.
    private var profile: Profile { registration.profile.withReachableEmail }

    /// The entries that are not the provider's values. Those count as sent: a provider may write a value in a form that
    /// a user may not enter.
    var changes: UserAttributes<String> {
        var changes = UserAttributes<String>()
        for attribute in entries.present {
            guard let entry = entries[attribute], !isSent(entry, attribute) else { continue }
            changes[attribute] = entry
        }
        return changes
    }

    var response: Response {
        var response = BrowserPages.page(
            status, below: path, title: "One more step: register", [notice, sent, form].joined(separator: "\n"),
            forms: .thisSite)
        // Without it older browsers omit a form's origin, and the form is refused.
        response.headers[.referrerPolicy] = "same-origin"
        if case .refused(let error, _) = refusal { response.headers.append(contentsOf: error.headers) }
        return response
    }

    private var status: HTTPResponse.Status {
        switch refusal {
        case nil: .ok
        case .otherRegistration: .badRequest
        case .refused(let error, _): error.status
        }
    }

    private var notice: String {
        switch refusal {
        case nil: "<p>You have no account here yet.</p>"
        case .otherRegistration:
            Self.problem(
                "This form was for another sign-in of this browser. Check what is shown now, and register again.")
        case .refused(let error, let problems):
            Self.problem(
                problems.present.isEmpty
                    ? error.userMessage
                    : "You are not registered yet. Please correct what is marked below.")
        }
    }

    // What the provider sent.

    private var sent: String {
        let attributes = profile.present.map { attribute in
            (attribute.field.label, profile[attribute] ?? "", registration.verified[attribute] ?? false)
        }
        let facts =
            attributes + claims.present.map { (Self.label($0), claims[$0].map(Self.text) ?? "", false) }
        let source = AppRedirectURI.origin(of: registration.identity.issuer)?.split(ascii: "/").last.map(String.init)
        let provider = source.map { " (<code>\(HTML.escaped($0))</code>)" } ?? ""
        guard !facts.isEmpty else {
            return "<p>The provider\(provider) has identified you, and has sent nothing else about you.</p>"
        }
        let items = facts.map { name, value, isVerified in
            "<dt>\(HTML.escaped(name))</dt><dd><bdi>\(HTML.escaped(value))</bdi>"
                + (isVerified ? " <span class=\"given\">· verified</span>" : "") + "</dd>"
        }
        return """
            <h2>What the provider sent</h2>
            <p class="quiet">The provider\(provider) has identified you, and has sent this. It is stored here when you \
            register.</p>
            <dl class="facts">
            \(items.joined(separator: "\n"))
            </dl>
            """
    }

    // The form.

    private var form: String {
        let (known, asked) = (shown.filter(isKnown), shown.filter { !isKnown($0) })
        let isChanged = known.contains { changes[$0] != nil || problem(with: $0) != nil }
        let changeable = """
            <details class="wide"\(isChanged ? " open" : "")>
            <summary>Change what is stored</summary>
            <p class="quiet">An empty field keeps what the provider sent.</p>
            <div class="fields">
            \(known.map(field).joined(separator: "\n"))
            </div>
            </details>
            """
        return """
            <form class="fields" method="post" action="\(HTML.escaped(path))/register">
            <input type="hidden" name="registration" value="\(HTML.escaped(id))">
            \(asked.map(field).joined(separator: "\n"))
            \(known.isEmpty ? "" : changeable)
            <p class="actions"><button class="primary" type="submit">Register</button>
            <a href="\(HTML.escaped(path + exit))">Not now</a></p>
            </form>
            """
    }

    /// The attributes that have a field: the parts of a name only if they are required or were sent.
    private var shown: [UserAttribute] {
        UserAttribute.allCases.filter { attribute in
            ![.givenName, .familyName].contains(attribute) || isKnown(attribute) || required.contains(attribute)
        }
    }

    private func isKnown(_ attribute: UserAttribute) -> Bool { profile[attribute] != nil }

    private func isSent(_ entry: String, _ attribute: UserAttribute) -> Bool {
        profile[attribute]?.hasSameBytes(as: entry) ?? false
    }

    private func field(_ attribute: UserAttribute) -> String {
        let name = attribute.registrationName
        let problem = problem(with: attribute)
        let isRequired = required.contains(attribute)
        let hint = isKnown(attribute) || isRequired ? "" : " <span>(optional)</span>"
        let marks =
            (isRequired && !isKnown(attribute) ? " required" : "")
            + (problem == nil ? "" : " aria-invalid=\"true\" aria-describedby=\"\(name)-problem\"")
        let value = entries[attribute] ?? profile[attribute] ?? ""
        return """
            <div><label for="\(name)">\(HTML.escaped(attribute.field.label))\(hint)</label>
            <input id="\(name)" name="\(name)" value="\(HTML.escaped(value))" \(attribute.field.input)\(marks)>\
            \(problem.map { "\n<p class=\"problem\" id=\"\(name)-problem\">\(HTML.escaped($0))</p>" } ?? "")</div>
            """
    }

    private func problem(with attribute: UserAttribute) -> String? {
        guard case .refused(let error, let problems) = refusal else { return nil }
        if attribute == .email, error.code == SignInError.Code.emailDomainBlocked.rawValue { return error.userMessage }
        return problems[attribute].map { "\(attribute.field.label) \($0)." }
    }

    // Texts.

    private static func problem(_ text: String) -> String {
        "<p class=\"problem\" role=\"alert\">\(HTML.escaped(text))</p>"
    }

    private static func label(_ claim: ConsentedClaim) -> String {
        switch claim {
        case .address: "Address"
        case .birthdate: "Date of birth"
        case .last4Social: "Last four digits of the social security number"
        case .isAdult: "Adult"
        case .isAdult18: "18 or older"
        case .isAdult21: "21 or older"
        case .isOver13: "Over 13"
        case .proofing: "Identity checked"
        }
    }

    private static func text(_ value: ConsentedClaims.Value) -> String {
        switch value {
        case .text(let text): text
        case .flag(let flag): flag ? "yes" : "no"
        case .address(let members):
            members[.formatted]
                ?? ConsentedClaims.AddressMember.allCases.compactMap { members[$0] }.joined(separator: ", ")
        }
    }
}

/// `/register`: the registration of a user who has signed in on a page of this server, without scripts.
///
/// The handle of the registration is in a cookie of the browser, which is set when the sign-in ends. The form has no
/// credential.
extension RegistrationFeature: PageRegistration {
    package var path: String { "/register" }

    func addPage(to router: inout Router, of api: LatchkeyAPI) {
        router.get(path, api.paged { try await page(of: $1, $0).page.response })
        router.post(path, api.paged { try await register($1, $0) })
    }

    package func cookie(
        for offer: RegistrationOffer, endingAt location: String, _ api: LatchkeyAPI
    ) async throws(SignInError) -> HTTPField {
        let (environment, records) = (api.useCases.environment, api.useCases.oneTimeStore)
        let cookie = RegistrationCookie(offer, endingAt: location, random: environment.random.token())
        _ = try await records.add(
            records.record(cookie.hash, for: .registeringBrowser, seconds: offer.expiresIn))
        return api.cookies.setRegistration(cookie, maximumAge: offer.expiresIn)
    }

    package func clearedCookie(of request: Request, _ api: LatchkeyAPI) -> HTTPField? {
        api.cookies.registration(of: request) == nil ? nil : api.cookies.clearRegistration
    }

    /// Only by the page's own form, in the browser of the sign-in.
    private func register(_ request: Request, _ api: LatchkeyAPI) async throws -> Response {
        try api.checkSameOrigin(request)
        try api.countSignIn(of: request)
        guard case .form(let entries) = try BodyFields(request) else { throw APIError.notAForm }
        var page: RegistrationPage
        guard let cookie = api.cookies.registration(of: request) else { throw APIError.registrationOver(api.cookies) }
        var form = RegistrationForm(handle: cookie.handle)
        form.cookie = cookie.value
        do {
            page = try await self.page(of: request, api).page
        } catch let over as APIError {
            // The response may have been lost.
            guard entries["registration"]?.hasSameBytes(as: cookie.formID) ?? false,
                let signedIn = try await answered(form, api.useCases.completion)
            else { throw over }
            return await registered(signedIn, cookie, request, api)
        }
        guard entries["registration"]?.hasSameBytes(as: cookie.formID) ?? false else {
            page.refusal = .otherRegistration
            return page.response
        }
        for attribute in UserAttribute.allCases { page.entries[attribute] = entries[attribute.registrationName] }
        form.codeChallenge = cookie.codeChallenge
        form.device = DeviceName.of(request)
        form.attributes = page.changes
        do throws(SignInError) {
            let signedIn = try await register(form, by: api.useCases.completion)
            return await registered(signedIn, cookie, request, api)
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

    private func registered(
        _ signedIn: SignedIn, _ cookie: RegistrationCookie, _ request: Request, _ api: LatchkeyAPI
    ) async -> Response {
        await api.endFormerSession(of: request, besides: signedIn.tokens)
        var response = Response.redirect(to: cookie.location)
        response.headers.append(contentsOf: api.cookies.setSession(signedIn.tokens))
        response.headers.append(api.cookies.clearRegistration)
        return response
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
            exit: api.redirects?.signInPage(returningTo: nil) ?? "/")
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
