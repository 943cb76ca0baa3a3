import HTTPServer
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// The routes of sign-ins by redirects (docs/web-frontends.md).
extension RedirectSignIn: BrowserRedirects {
    func signInPage(returningTo url: String?) -> String {
        guard let url, mayReturn(to: url) else { return SignInPage.path }
        let query = PercentEncoding.form([(name: SignInPage.returnParameter, value: url)])
        return SignInPage.path + "?" + String(decoding: query, as: UTF8.self)
    }

    func addRoutes(to router: inout Router) {
        router.get("/auth/providers") { _ in listProviders() }
        router.get(SignInPage.path, api.paged { try await showSignInPage($1) })
        router.post(SignInPage.path, api.paged { try await renewByForm($1) })
        router.post("/sign-out", api.paged { try await signOutByForm($1) })
        router.get("/auth/popup.js") { _ in BrowserPages.popupScript }
        router.get("/auth/form-post.js") { _ in BrowserPages.formPostScript }
        router.get(RedirectsFeature.startPath, api.starting { try await start($1) })
        router.post(RedirectsFeature.startPath, api.admitting(.enteringOrPage) { try await startForApp($1, $2) })
        router.get(RedirectsFeature.initiationPath, api.starting { try await initiateLogin($1) })
        router.post(RedirectsFeature.initiationPath, api.paged { try await initiateLoginByForm($1) })
        addCallback("/auth/{provider}/callback", to: &router)
        addCallback("/auth/{provider}/{client_type}/callback", to: &router)
        router.post("/auth/session", api.admitting(.enteringOrPage) { try await takeSession($1, $2) })
        addFrontPage(to: &router)
    }

    private func listProviders() -> Response {
        let base = api.baseURL.url ?? ""
        // At one for backchannel authentication alone, no client has a redirect URI to which a browser could come back.
        // Nor is one at a provider to which apps bring proofs.
        let providers = api.useCases.providers.all.filter { provider in
            !provider.kindName.takesProofs
                && (provider.openID?.backchannelTokenDelivery.mode == nil
                    || !provider.allClients.allSatisfy(\.redirectURIs.isEmpty))
        }
        return .json(.ok, capacity: 160 * (providers.count + 1)) { json in
            json.add("providers", objects: providers) { provider, json in
                json.add("id", provider.name)
                json.add("name", provider.title)
                json.add("color", ifPresent: provider.color)
                json.add("kind", provider.kindName.rawValue)
                json.add("start_url", "\(base)/auth/\(provider.name)/start")
            }
            for feature in api.features { feature.describe(in: &json) }
        }
    }

    func start(
        _ request: Request, sessionIDIsSession: Bool = false, callback: ((ClientType) -> String)? = nil,
        fallback: ((ClientID?, ClientType) -> String?)? = nil
    ) async throws -> Response {
        // What is not known is ignored, such as what mailers and shops add to links.
        var reader = FieldReader(.form(try request.repairedQuery))
        // Addresses are in logs and histories.
        for name in ["phone_number", "phoneNumber"] where reader.has(name) {
            reader.refuse(name, "must not be in an address: post the start")
        }
        var start = try RedirectStart(
            reader, provider: request.provider, publicURL: try api.publicURL(), callback: callback, fallback: fallback,
            parameters: parameters(at: request))
        start.sessionIDIsSession = sessionIDIsSession
        return try await begin(start, request)
    }

    /// The parameters for the provider that apps may send.
    private func parameters(at request: Request) -> Set<String> {
        api.useCases.providers[request.provider]?.server?.requestParameters ?? []
    }

    private func begin(_ start: RedirectStart, _ request: Request) async throws -> Response {
        var start = start
        start.caller = api.terms(of: request, try await api.admitIfNamed(request))
        let step = try await self.start(
            start, browser: api.cookies.browser(of: request), isBrowser: !request.prefersJSON)
        var response = respond(step, asJSON: request.prefersJSON)
        if case .goOn = step, let start = api.cookies.setStart(of: request) { response.headers.append(start) }
        return response
    }

    /// The path and query of a start for pages.
    static func start(
        at provider: String, for client: SignInConfiguration.Client, to redirectURI: String
    ) -> String {
        let items = [
            (name: "client_type", value: ClientType.web.rawValue), (name: "client_id", value: client.id.text),
            (name: "redirect_uri", value: redirectURI),
        ]
        return "/auth/\(provider)/start?" + String(decoding: PercentEncoding.form(items), as: UTF8.self)
    }

    /// An app without a browser begins: it opens the location itself, or at a group of servers it signs in with a
    /// token. Its fields are in no address.
    private func startForApp(_ request: Request, _ admission: Admission) async throws -> Response {
        let reader = FieldReader(try BodyFields(request, from: admission))
        if let provider = api.useCases.providers[request.provider], provider.group != nil {
            for feature in api.features {
                if let started = try await feature.startSignIn(request, admission, at: provider, of: api) {
                    return started
                }
            }
            guard !reader.hasTokenInPlaceOfBrowser else {
                return try await api.signIn(request, admission, provider: request.provider).run()
            }
        }
        var start = try RedirectStart(
            reader, provider: request.provider, publicURL: try api.publicURL(), parameters: parameters(at: request))
        // A browser must get its cookie, which binds the sign-in to it, on the way to the provider.
        guard start.clientType == .ios || start.clientType == .android else { throw APIError.startNeedsBrowser }
        let server = api.useCases.providers[request.provider]?.server
        guard server?.dependsOnState != true else { throw SignInError.browserNeeded }
        start.caller = api.terms(of: request, admission)
        return respond(try await self.start(start, browser: nil), asJSON: true)
    }

    /// A third party, such as the provider, has sent the browser here to sign in.
    private func initiateLogin(_ request: Request) async throws -> Response {
        try await begin(try start(initiatedBy: try request.repairedQuery, of: request), request)
    }

    /// A browser sends no `SameSite=Lax` cookie with another site's form, and the cookie of a sign-in that is under way
    /// would be replaced. So the browser asks again by `GET`.
    private func initiateLoginByForm(_ request: Request) async throws -> Response {
        let form = try BodyFields.repairedForm(request)
        _ = try start(initiatedBy: form, of: request)
        let items = Self.initiationNames.compactMap { name in form[name].map { (name: name, value: $0) } }
        return .redirect(
            to: api.baseURL.path + request.path + "?" + String(decoding: PercentEncoding.form(items), as: UTF8.self))
    }

    /// The parameters that a third party may send; others are ignored.
    private static let initiationNames = ["iss", "login_hint", "target_link_uri"]

    /// Reads a third party's request to sign in (OpenID Connect Core section 4).
    private func start(initiatedBy fields: Query, of request: Request) throws -> RedirectStart {
        var reader = FieldReader(.form(fields))
        let issuer = reader.visibleText("iss", limit: 2048, required: true)
        let loginHint = reader.text("login_hint", limit: 255)
        let targetLinkURI = reader.visibleText("target_link_uri", limit: 2048)
        try reader.check()
        return try self.start(
            initiatedAt: request.provider, by: issuer ?? "", loginHint: loginHint, to: targetLinkURI,
            callbackURL: "\(try api.publicURL())/auth/\(request.provider)/callback")
    }

    func startErrand(
        _ request: Request, of caller: SignedInCaller, _ check: (RedirectStart) throws(SignInError) -> Void
    ) async throws -> Response {
        var start = try RedirectStart(
            FieldReader(BodyFields(request)), provider: request.provider, publicURL: try api.publicURL(),
            parameters: parameters(at: request))
        start.caller = api.terms(of: request, caller.admission)
        try check(start)
        start.purpose = .errand(session: caller.holder.session.id)
        return respond(
            try await self.start(start, browser: api.cookies.browser(of: request)),
            asJSON: request.prefersJSON)
    }

    /// `POST /auth/session`: an app gets the session of its sign-in in a browser.
    private func takeSession(_ request: Request, _ admission: Admission) async throws -> Response {
        var reader = FieldReader(try BodyFields(request, from: admission))
        let sessionID = reader.visibleText("session_id", ["sessionId"], limit: 64, required: true)
        let codeVerifier = reader.codeVerifier()
        guard reader.problems.isEmpty, let sessionID else { throw reader.refusal() }
        // Without a key, only the verifier proves that the sign-in was the page's own.
        guard !admission.isPage || codeVerifier != nil else {
            throw APIError.malformed("code_verifier is missing. A page without an API key must send it.")
        }
        let signedIn = try await takeSession(
            Secret(sessionID), codeVerifier: codeVerifier, caller: admission.signInCaller,
            clients: admission.clients)
        return try await api.respond(signedIn, .ok, to: admission, request)
    }

    /// - Parameter asJSON: Whether the location where a sign-in goes on is a value, for scripts that ask for it.
    func respond(_ step: RedirectStep, asJSON: Bool = false) -> Response {
        switch step {
        case .goOn(let location, let seconds, let browser):
            var response = Response.redirect(to: location)
            if asJSON {
                response = .json(.ok, capacity: 1024) { json in
                    json.add("location", location)
                    json.add("expires_in", seconds)
                }
            }
            if let browser { response.headers.append(api.cookies.setBrowser(browser, seconds: lifetime)) }
            return response
        case .finished(let end):
            var response =
                end.start.clientType == .popup
                ? BrowserPages.popup(end, below: api.baseURL.path)
                : .redirect(to: location(after: end))
            if case .signedIn(let signedIn) = end.result {
                response.headers.append(contentsOf: api.cookies.setSession(signedIn.tokens))
            }
            return response
        }
    }

    /// From this server's sign-in page, a user who must register gets to the registration page; other frontends have
    /// their own form.
    private func location(after end: RedirectEnd) -> String {
        guard case .mustRegister = end.result, let registration = api.registration, let url = api.baseURL.url,
            end.start.redirectURI.hasSameBytes(as: url + SignInPage.path)
        else { return end.location }
        return api.baseURL.path + registration.path
    }
}

extension BrowserCookies {
    private var browserName: String { prefix + "latchkey_browser" }

    /// What tells a browser from others during a sign-in.
    func browser(of request: Request) -> Secret? { value(browserName, of: request) }

    fileprivate func setBrowser(_ value: Secret, seconds: Int64) -> HTTPField {
        field(browserName, value.exposed, maximumAge: seconds)
    }
}

extension APIError {
    fileprivate static let startNeedsBrowser = APIError.malformed(
        "client_type must be ios or android to post a start. A browser begins at the same address by GET.")
}

extension RedirectStart {
    /// Reads a start (docs/web-frontends.md).
    /// - Parameters:
    ///   - callback: The path that the provider sends the browser back to; by default the provider's callback.
    ///   - fallback: The redirect URI if the request has none. Without it, `redirect_uri` is required.
    ///   - parameters: The names of those for the provider that an app may send.
    /// - Throws: 400 that names every missing or malformed field.
    init(
        _ reader: FieldReader, provider: String, publicURL: String, callback: ((ClientType) -> String)? = nil,
        fallback: ((ClientID?, ClientType) -> String?)? = nil, parameters: Set<String> = []
    ) throws(APIError) {
        var reader = reader
        let correlationID = reader.correlationID()
        let clientType = reader.value(
            "client_type", ["clientType"], limit: 16, required: true, demand: "must be web, spa, ios, android or popup",
            ClientType.init(rawValue:))
        let named = reader.redirectURI(required: fallback == nil)
        let clientID = reader.clientID()
        let network = reader.network(required: false)
        let operatorName = reader.operatorName()
        let phoneNumber = reader.phoneNumber()
        let usual = clientType.flatMap { fallback?(clientID, $0) }
        if named == nil, usual == nil, fallback != nil { reader.refuse("redirect_uri", "is missing") }
        let redirectURI = named ?? usual ?? ""
        let kind = clientType ?? .web
        self.init(
            provider: ProviderReference(provider: provider), clientType: kind,
            // A path is one of this server's own pages.
            redirectURI: redirectURI.hasPrefix("/") ? publicURL + redirectURI : redirectURI,
            callbackURL: publicURL + (callback?(kind) ?? "/auth/\(provider)/callback"))
        self.clientID = clientID
        self.network = network
        self.operatorName = operatorName
        self.phoneNumber = phoneNumber
        demand.scopes = reader.words("scope", limit: 1024)
        demand.acrValues = reader.words("acr_values", ["acrValues"], limit: 255)
        demand.context = reader.context()
        demand.prompt = reader.prompt(Prompt.allCases)
        demand.maximumAge = reader.seconds("max_age", ["maxAge"], upTo: AuthenticationDemand.longestMaximumAge)
        demand.loginHint = reader.text("login_hint", limit: 255)
        codeChallenge = reader.codeChallenge()
        trackingID = reader.visibleText("tracking_id", limit: 128)
        for name in parameters { self.parameters[name] = reader.text(name, limit: 2048) }
        self.correlationID = correlationID
        sentNames = reader.sentNames
        try reader.check(correlationID)
    }
}

extension FieldReader {
    /// Whether a start is by another method than redirects, which has a token.
    fileprivate var hasTokenInPlaceOfBrowser: Bool {
        var reader = self
        let method = reader.text("method", limit: 32)
        return method.map { $0 != "redirect" } ?? ["token", "operator_token", "operatorToken"].contains(where: has)
    }

    /// An S256 code challenge (RFC 7636 section 4.2); `plain` is not supported.
    fileprivate mutating func codeChallenge() -> String? {
        let method = text("code_challenge_method", limit: 16)
        let challenge = value(
            "code_challenge", limit: 43, demand: "must be the SHA-256 of a code verifier in base64url"
        ) { Base64URL.decode($0)?.count == 32 ? $0 : nil }
        if challenge != nil, method != "S256" { refuse("code_challenge_method", "must be S256") }
        return challenge
    }
}
