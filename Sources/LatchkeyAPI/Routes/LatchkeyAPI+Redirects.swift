package import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
package import SignIn

/// Sign-in by redirects (docs/web-frontends.md).
extension LatchkeyAPI {
    func listProviders() -> Response {
        let base = baseURL.url ?? ""
        let providers = useCases.providers.all.filter { !$0.usesBackchannelOnly }
        return .json(.ok, capacity: 160 * (providers.count + 1)) { json in
            json.add("providers", objects: providers) { provider, json in
                json.add("id", provider.name)
                json.add("name", provider.title)
                json.add("kind", provider.kindName.rawValue)
                json.add("start_url", "\(base)/auth/\(provider.name)/start")
            }
            for feature in features { feature.describe(in: &json) }
        }
    }

    /// A browser begins. The parameters are those of ``RedirectStart``.
    package func startRedirect(
        _ request: Request, sessionIDIsSession: Bool = false, callback: RedirectStart.CallbackPath? = nil,
        fallback: RedirectStart.UsualRedirectURI? = nil
    ) async throws -> Response {
        var start = try RedirectStart(
            try request.query, provider: request.provider, publicURL: try publicURL(), callback: callback,
            fallback: fallback)
        start.sessionIDIsSession = sessionIDIsSession
        start.caller = terms(of: request, try await admitIfNamed(request))
        return respond(
            try await useCases.redirectSignIn.start(start, browser: cookies.browser(of: request)), to: request)
    }

    /// An app without a browser begins: it opens the location itself. Its fields are in no address.
    func startForApp(_ request: Request, _ admission: Admission) async throws -> Response {
        var start = try RedirectStart(
            BodyFields(request, from: admission), provider: request.provider, publicURL: try publicURL())
        // A browser must get its cookie, which binds the sign-in to it, on the way to the provider.
        guard start.clientType == .ios || start.clientType == .android else { throw APIError.startNeedsBrowser }
        start.caller = terms(of: request, admission)
        let step = try await useCases.redirectSignIn.start(start, browser: nil)
        guard case .goOn(let location, let seconds, _) = step else { return respond(step) }
        return .json(.ok, Self.location(location, seconds))
    }

    /// A third party, such as the provider, has sent the browser here to sign in.
    func initiateLogin(_ request: Request) async throws -> Response {
        var start = try start(initiatedBy: try request.query, of: request)
        start.caller = terms(of: request, try await admitIfNamed(request))
        return respond(
            try await useCases.redirectSignIn.start(start, browser: cookies.browser(of: request)), to: request)
    }

    /// A browser sends no `SameSite=Lax` cookie with another site's form, and the cookie of a sign-in that is under way
    /// would be replaced. So the browser asks again by `GET`.
    func initiateLoginByForm(_ request: Request) async throws -> Response {
        guard case .form(let form) = try BodyFields(request) else { throw APIError.notAForm }
        _ = try start(initiatedBy: form, of: request)
        let items = LoginInitiation.names.compactMap { name in form[name].map { (name: name, value: $0) } }
        return .redirect(
            to: baseURL.path + request.path + "?" + String(decoding: PercentEncoding.form(items), as: UTF8.self))
    }

    private func start(initiatedBy fields: Query, of request: Request) throws -> RedirectStart {
        let initiation = try LoginInitiation(fields, provider: request.provider)
        return try useCases.redirectSignIn.start(
            initiatedBy: initiation, callbackURL: "\(try publicURL())/auth/\(initiation.provider)/callback")
    }

    /// Only by `POST`, so that a session cookie alone begins nothing; only this browser's session can finish it.
    func startLink(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        guard request.headers.count(of: .authorization) == 0 else { throw APIError.linkNeedsCookie }
        var start = try RedirectStart(BodyFields(request), provider: request.provider, publicURL: try publicURL())
        start.caller = terms(of: request, caller.admission)
        let step = try await useCases.redirectSignIn.startLink(
            start, for: caller.holder, browser: cookies.browser(of: request))
        return respond(step, to: request)
    }

    /// A redirect, or its location as JSON for scripts that ask for it.
    func respond(_ step: RedirectStep, to request: Request) -> Response {
        guard request.prefersJSON, case .goOn(let location, let seconds, let browser) = step else {
            return respond(step)
        }
        var response = Response.json(.ok, Self.location(location, seconds))
        if let browser { response.headers.append(cookies.setBrowser(browser)) }
        return response
    }

    private static func location(_ location: String, _ seconds: Int64) -> [UInt8] {
        var json = JSONObjectWriter(capacity: 1024)
        json.add("location", location)
        json.add("expires_in", seconds)
        return json.finish()
    }

    /// HEAD, as link checkers send it, must not spend the `state`.
    func finishRedirect(_ request: Request) async throws -> Response {
        guard request.method == .get else { return Response(status: .ok, headers: [.cacheControl: "no-store"]) }
        try checkProvider(of: request)
        return try await finish(try request.query, request)
    }

    /// `response_mode=form_post`: a browser sends no `SameSite=Lax` cookie with another site's form. Then a page of
    /// this server sends the form again, with the cookie. A redirect would put the code into an address.
    func finishRedirectByForm(_ request: Request) async throws -> Response {
        guard case .form(let form) = try BodyFields(request) else { throw APIError.notAForm }
        try checkProvider(of: request)
        if let type = request.parameters["client_type"], ClientType(rawValue: type) == nil {
            throw APIError.unknownClientType
        }
        if cookies.browser(of: request) == nil, form[AuthorizationResponse.sentAgain] == nil {
            let items = AuthorizationResponse.names.compactMap { name in form[name].map { (name: name, value: $0) } }
            return BrowserPages.formToSendAgain(items, to: baseURL.path + request.path, below: baseURL.path)
        }
        return try await finish(form, request)
    }

    /// - Throws: `not_found` if no provider has the name in the path.
    private func checkProvider(of request: Request) throws(SignInError) {
        _ = try useCases.providers.find(request.provider)
    }

    private func finish(_ parameters: Query, _ request: Request) async throws -> Response {
        let received: ReceivedAuthorizationResponse
        do throws(APIError) {
            received = try ReceivedAuthorizationResponse(parameters, provider: request.provider)
        } catch {
            // The error may name a parameter that is personal.
            let repeated = parameters.repeatedName.flatMap { AuthorizationResponse.names.contains($0) ? $0 : nil }
            await useCases.redirectSignIn.noteUnreadableResponse(
                at: request.provider, browser: cookies.browser(of: request),
                problem: repeated.map { "The authorization response has \($0) more than once." }
                    ?? "A parameter of the authorization response is malformed.", requestID: request.id)
            throw error.telling(.unconfirmed)
        }
        let step = try await useCases.redirectSignIn.finish(
            received, browser: cookies.browser(of: request), session: cookies.session(of: request),
            device: DeviceName.of(request), subnet: rates.subnet(of: request), requestID: request.id)
        var response = respond(step)
        guard case .finished(let end) = step else { return response }
        switch end.result {
        case .signedIn:
            await endFormerSession(of: request)
            forgetRegistration(of: request, in: &response)
        case .mustRegister(let offer):
            if let cookie = try await pageRegistration?.cookie(for: offer, after: end, self) {
                response.headers.append(cookie)
            }
        case .handedOver, .linked, .taskEnded, .failed: break
        }
        return response
    }

    /// `POST /auth/session`: an app gets the session of its sign-in in a browser.
    func takeSession(_ request: Request, _ admission: Admission) async throws -> Response {
        var reader = FieldReader(try BodyFields(request, from: admission))
        let sessionID = reader.visibleText("session_id", ["sessionId"], limit: 64, required: true)
        let codeVerifier = reader.codeVerifier()
        guard reader.problems.isEmpty, let sessionID else { throw reader.refusal() }
        // Without a key, only the verifier proves that the sign-in was the page's own.
        guard !admission.isPage || codeVerifier != nil else {
            throw APIError.malformed("code_verifier is missing. A page without an API key must send it.")
        }
        let signedIn = try await useCases.oneTimeSessionCode(
            Secret(sessionID), codeVerifier: codeVerifier, clients: admission.clients)
        return await respond(signedIn, .ok, to: admission, request)
    }

    private func respond(_ step: RedirectStep) -> Response {
        switch step {
        case .goOn(let location, _, let browser):
            var response = Response.redirect(to: location)
            if let browser { response.headers.append(cookies.setBrowser(browser)) }
            return response
        case .finished(let end):
            var response =
                end.clientType == .popup
                ? BrowserPages.popup(end, below: baseURL.path)
                : .redirect(to: pageRegistration?.location(after: end, self) ?? end.location)
            if case .signedIn(let signedIn) = end.result {
                response.headers.append(contentsOf: cookies.setSession(signedIn.tokens))
            }
            return response
        }
    }

    package func publicURL() throws(APIError) -> String {
        guard let url = baseURL.url else {
            throw APIError(
                .notFound, "not_found", .configurationError,
                "This server does not know its public URL. The administrator must set public_url.")
        }
        return url
    }
}

extension APIError {
    fileprivate static let unknownClientType = APIError(
        .notFound, "not_found", .invalidRequest,
        "There is no such client_type. Use one of: "
            + ClientType.allCases.map(\.rawValue).joined(separator: ", ") + ".")

    package static let notAForm = APIError.malformed(
        "The body is not a form. Send application/x-www-form-urlencoded.")

    fileprivate static let startNeedsBrowser = APIError.malformed(
        "client_type must be ios or android to post a start. A browser begins at the same address by GET.")

    fileprivate static let linkNeedsCookie = APIError.malformed(
        "This call is for browsers with a session cookie. An app posts its code to /users/me/identities.")
}
