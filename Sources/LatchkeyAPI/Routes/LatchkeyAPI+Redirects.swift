import HTTPServer
import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn

/// Sign-in by redirects (docs/redirects.md).
extension LatchkeyAPI {
    func listProviders() throws -> Response {
        let base = publicAddress.url ?? ""
        let providers = useCases.redirectSignIn.providers.map { (id, provider) in
            var json = JSONObjectWriter(capacity: 128)
            json.add("id", id)
            json.add("name", provider.name)
            json.add("kind", provider.kind.rawValue)
            json.add("start_url", "\(base)/auth/\(id)/start")
            return String(decoding: json.finish(), as: UTF8.self)
        }
        var end = ""
        if let demonstration {
            var json = JSONObjectWriter(capacity: 96)
            json.add("carriers_url", demonstration.carriersURL)
            json.add("api_key", demonstration.apiKey)
            end = ",\"demo\":" + String(decoding: json.finish(), as: UTF8.self)
        }
        return .json(.ok, Array("{\"providers\":[\(providers.joined(separator: ","))]\(end)}".utf8))
    }

    func startRedirect(_ request: Request) async throws -> Response {
        let start = try RedirectStart(try request.query, provider: request.provider, publicURL: try publicURL())
        return answer(
            try await useCases.redirectSignIn.start(start, browser: cookies.browser(of: request)), to: request)
    }

    /// The page asks by `POST`, so that a session cookie alone begins nothing; what it has begun only this browser's
    /// session can finish.
    func startLink(_ request: Request, _ caller: SignedInCaller) async throws -> Response {
        guard request.headers.count(of: .authorization) == 0 else { throw APIError.linkNeedsCookie }
        let start = try RedirectStart(BodyFields(request), provider: request.provider, publicURL: try publicURL())
        let step = try await useCases.redirectSignIn.startLink(
            start, for: caller.holder, browser: cookies.browser(of: request))
        return answer(step, to: request)
    }

    /// Where the browser goes, for a script to send it there if the script asks for JSON.
    func answer(_ step: RedirectStep, to request: Request) -> Response {
        guard request.prefersJSON, case .goOn(let location, let browser) = step else { return answer(step) }
        var json = JSONObjectWriter(capacity: 1024)
        json.add("location", location)
        json.add("expires_in", RedirectSignIn.lifetime)
        var response = Response.json(.ok, json.finish())
        if let browser { response.headers.append(cookies.setBrowser(browser)) }
        return response
    }

    /// A look at the place, as link checkers take one, must not spend the `state`.
    func finishRedirect(_ request: Request) async throws -> Response {
        guard request.method == .get else { return Response(status: .ok, headers: [.cacheControl: "no-store"]) }
        let answer = try AuthorizationResponse(try request.query, provider: request.provider)
        let step = try await useCases.redirectSignIn.finish(
            answer, browser: cookies.browser(of: request), session: cookies.session(of: request),
            device: DeviceName.of(request))
        if case .finished(let end) = step, case .signedIn = end.result { await endFormerSession(of: request) }
        return self.answer(step)
    }

    /// `response_mode=form_post`: a browser brings no `SameSite=Lax` cookie with another site's form, but brings it when
    /// it is sent on to the same place by GET.
    func passOn(_ request: Request) throws -> Response {
        guard case .form(let form) = try BodyFields(request) else {
            throw APIError.malformed("The body is not a form. Send application/x-www-form-urlencoded.")
        }
        // Of names that are known nothing needs to be encoded in the place that is answered.
        _ = try useCases.signIn.kind(ofProvider: request.provider)
        if let type = request.parameters["client_type"], ClientType(rawValue: type) == nil {
            throw APIError.unknownClientType
        }
        let known = ["state", "code", "error", "iss", "mccmnc", "login_hint_token"]
        let items = known.compactMap { name in form[name].map { (name: name, value: $0) } }
        return .redirect(
            to: publicAddress.path + request.path + "?" + String(decoding: PercentEncoding.form(items), as: UTF8.self))
    }

    /// `POST /auth/session`: an app gets the session that a browser signed it in to.
    func takeSession(_ request: Request, _ admission: Admission) async throws -> Response {
        var reader = FieldReader(try BodyFields(request))
        let sessionID = reader.visibleText("session_id", ["sessionId"], limit: 64, required: true)
        let codeVerifier = reader.codeVerifier()
        guard reader.problems.isEmpty, let sessionID else {
            throw reader.refusal()
        }
        // Without a key, the page has nothing else that says that the sign-in was its own.
        guard !admission.isPage || codeVerifier != nil else {
            throw APIError.malformed("code_verifier is missing. A page that shows no API key cannot do without it.")
        }
        let signedIn = try await useCases.oneTimeSessionCode(
            Secret(sessionID), codeVerifier: codeVerifier, clients: admission.clients)
        return await hand(signedIn, .ok, to: admission, request)
    }

    private func answer(_ step: RedirectStep) -> Response {
        switch step {
        case .goOn(let location, let browser):
            var response = Response.redirect(to: location)
            if let browser { response.headers.append(cookies.setBrowser(browser)) }
            return response
        case .finished(let end):
            var response =
                end.clientType == .popup
                ? BrowserPages.popup(end, below: publicAddress.path) : .redirect(to: end.location)
            if case .signedIn(let signedIn) = end.result {
                response.headers.append(contentsOf: cookies.setSession(signedIn.tokens))
            }
            return response
        }
    }

    func publicURL() throws(APIError) -> String {
        guard let url = publicAddress.url else {
            throw APIError(
                .notFound, "not_found", .configurationError,
                "This server does not know its public URL. The operator has to set public_url.")
        }
        return url
    }
}

extension APIError {
    fileprivate static let unknownClientType = APIError(
        .notFound, "not_found", .invalidRequest,
        "There is no such client_type. The path has one of \(ClientType.allCases.map(\.rawValue).joined(separator: ", "))."
    )

    fileprivate static let linkNeedsCookie = APIError.malformed(
        "This way is for browsers with a session cookie. An app posts the code it got to /users/me/identities.")
}
