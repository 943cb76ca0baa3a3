public import HTTPServer
import HTTPTypes
public import Logging
public import Primitives
public import SignIn
import Storage
import Synchronization
public import Tracing

/// Latchkey over HTTP: its routes, and one form for all errors.
///
/// ```swift
/// let api = LatchkeyAPI(useCases: useCases, apiKeys: keys, logger: logger)
/// let server = Server(configuration: …, logger: logger, errorRenderer: api.errorRenderer, handler: api.handler)
/// ```
public final class LatchkeyAPI: Sendable {
    let useCases: UseCases
    private let apiKeys: APIKeys
    private let crossOrigin: CrossOrigin
    private let files: StaticFiles?
    private let accessLog: AccessLog
    private let requestIDs: RequestIDs
    let publicAddress: PublicAddress
    let compatibility: Compatibility
    let rates: RateGuard
    private let isDraining = Atomic(false)
    private let traces: RequestTraces
    let version: String
    let demonstration: Demonstration?
    let documentPage = DocumentPage()
    let operatorPages: OperatorPages
    let insiders: Insiders
    /// Who may see the status page: this very machine.
    let statusInsiders: Insiders
    let statusWatchers = StatusWatchers()

    /// - Parameters:
    ///   - allowedOrigins: Web frontends on other origins that are let in by their `Origin` instead of an API key.
    ///   - clientOrigins: Those that are let in so for certain clients only.
    ///   - files: What is served at `/` and where no route is.
    ///   - publicAddress: Where browsers and carriers reach this server; redirect sign-ins and server-initiated ones
    ///     need to know.
    ///   - limits: How much is put up with; without them, anything.
    ///   - compatibility: Where answers follow the published example API rather than docs/.
    ///   - operatorPages: What only operators get to see.
    ///   - version: Of this program, for the OpenAPI document.
    ///   - demonstration: Told to pages, where all of it is one.
    ///   - tracer: Is told of each request as a span; nil where nobody listens.
    public init(
        useCases: UseCases, apiKeys: APIKeys, allowedOrigins: [String] = [], clientOrigins: [String: Set<String>] = [:],
        files: StaticFiles? = nil,
        publicAddress: PublicAddress = PublicAddress(), compatibility: Compatibility = Compatibility(),
        limits: RequestLimits = RequestLimits(), operatorPages: OperatorPages = OperatorPages(),
        uptime: Uptime = .system,
        version: String = "unreleased", demonstration: Demonstration? = nil, tracer: (any Tracer)? = nil,
        logger: Logger,
        random: RandomSource = .system
    ) {
        self.useCases = useCases
        self.apiKeys = apiKeys
        crossOrigin = CrossOrigin(
            allowedOrigins, clientOrigins: clientOrigins, keys: apiKeys, stored: useCases.apiKeys)
        self.files = files
        self.publicAddress = publicAddress
        accessLog = AccessLog(logger: logger)
        requestIDs = RequestIDs(random: random)
        self.compatibility = compatibility
        rates = RateGuard(limits, uptime: uptime)
        traces = RequestTraces(tracer: tracer)
        self.version = version
        self.demonstration = demonstration
        self.operatorPages = operatorPages
        let presentProxies: @Sendable () -> TrustedProxies = { [rates] in rates.proxies }
        insiders = Insiders(allowed: operatorPages.allowedAddresses, presentProxies: presentProxies)
        statusInsiders = Insiders(allowed: OperatorPages().allowedAddresses, presentProxies: presentProxies)
    }

    /// Has `GET /readyz` answer 503 from now on, so that no more is sent here while the server finishes what runs.
    public func beginDraining() { isDraining.store(true, ordering: .relaxed) }

    /// Has other limits hold from now on; what was counted under a limit that stays is still counted.
    public func replaceLimits(_ limits: RequestLimits) { rates.replace(limits) }

    /// Answers every request; never throws.
    public var handler: Handler { handler(with: makeRouter()) }

    /// As ``handler``, and tells of every request what it came to.
    public func handler(observedBy observe: @escaping RequestObserver) -> Handler {
        handler(with: makeRouter(), observe)
    }

    func handler(with router: Router, _ observe: RequestObserver? = nil) -> Handler {
        let patterns = router.patterns
        return { request in
            let place = router.place(of: request)
            return await self.traces.answer(request, at: place.number.map { patterns[$0] }) {
                await self.respond(to: request, router, place, observe)
            }
        }
    }

    /// The patterns of the paths that are answered, by their numbers in ``AnsweredRequest``.
    public var routePatterns: [String] { makeRouter().patterns }

    /// How much there is to do.
    public var load: RequestLoad { rates.load }

    /// Answers what the server refuses before the handler sees it.
    public var errorRenderer: ErrorRenderer {
        { error, request in
            let requestID = self.requestIDs.next()
            return self.finished(APIError(error).response(requestID: requestID), request, requestID)
        }
    }

    private func respond(
        to received: Request, _ router: Router, _ place: Router.Place, _ observe: RequestObserver?
    ) async -> Response {
        let stopwatch = Stopwatch()
        let requestID = requestIDs.next()
        var request = received
        request.id = requestID
        var response: Response
        do {
            response = try await limited(request, router, place)
        } catch {
            response = render(error).response(requestID: requestID)
        }
        response = finished(response, request, requestID)
        let nanoseconds = stopwatch.nanoseconds
        accessLog.write(request, response, requestID: requestID, took: nanoseconds)
        observe?(
            AnsweredRequest(
                route: place.number, method: request.method, status: response.status.code, nanoseconds: nanoseconds))
        return response
    }

    private func limited(_ request: Request, _ router: Router, _ place: Router.Place) async throws -> Response {
        // What tells how the server is, however busy it is.
        if request.path == "/healthz" || request.path == "/readyz" || request.path == "/metrics" {
            return try await router.respond(to: request, at: place)
        }
        guard rates.enter() else { throw APIError.overloaded }
        defer { rates.leave() }
        let notice = try rates.countAddress(of: request)
        if let preflight = await crossOrigin.preflight(request) { return preflight }
        guard let notice else { return try await router.respond(to: request, at: place) }
        var response: Response
        do {
            response = try await router.respond(to: request, at: place)
        } catch {
            response = render(error).response(requestID: request.id)
        }
        notice.mark(&response)
        return response
    }

    func render(_ error: any Error) -> APIError {
        switch error {
        case let error as APIError: return error
        case let error as SignInError: return APIError(error)
        case let error as HTTPError: return APIError(error)
        default:
            accessLog.logger.error("a handler failed", metadata: ["error": "\(type(of: error))"])
            return APIError(HTTPError.internalServerError)
        }
    }

    /// RFC 6797: for a year, plain http is not tried. Subdomains are the operator's own affair.
    private static let strictTransport = HTTPField(name: .strictTransportSecurity, value: "max-age=31536000")

    private func finished(_ response: Response, _ request: Request?, _ requestID: String) -> Response {
        var response = response
        response.headers.append(HTTPField(name: .requestID, value: requestID))
        if publicAddress.isHTTPS { response.headers.append(Self.strictTransport) }
        if let request { crossOrigin.mark(&response, for: request) }
        return response
    }
}

extension LatchkeyAPI {
    private func addAsyncSignIn(to router: inout Router) {
        let path = "/auth/zenkey-async-signin"
        router.post(path, entering { try await $0.startAsyncSignIn($1, $2) })
        // The carriers' way in: they have no API key.
        router.post(AsyncSignIn.notificationPath) { try await self.receiveNotification($0) }
        router.get(path + "/{auth_req_id}", keyed { try await $0.pollAsyncSignIn($1, $2) })
        router.post(path + "/{auth_req_id}", entering { try await $0.retryAsyncSignIn($1, $2) })
        router.delete(path + "/{auth_req_id}", keyed { try await $0.cancelAsyncSignIn($1, $2) })
    }

    func makeRouter() -> Router {
        var router = Router()
        if let files { router.files = { try await files.respond(to: $0) } }
        router.post("/auth/zenkey-signin", entering { try await $0.signIn($1, $2, provider: "zenkey") })
        router.post("/auth/{provider}/sign-in", entering { try await $0.signIn($1, $2, provider: $1.provider) })
        router.post("/auth/{provider}/attempts", entering { api, request, _ in try await api.issueAttempt(request) })
        router.post("/users", enteringOrPage { try await $0.register($1, $2) })
        router.post("/auth/register", enteringOrPage { try await $0.register($1, $2) })
        router.post("/auth/session", enteringOrPage { try await $0.takeSession($1, $2) })
        addRedirectRoutes(to: &router)
        addLogoutRoutes(to: &router)
        addZephrRoutes(to: &router)
        router.get("/users/me", signedIn { try await $0.showUser($1) })
        router.patch("/users/me", changing { try await $0.editUser($1) })
        router.delete("/users/me", changing { try await $0.eraseUser($1) })
        router.get("/users/me/identities", signedIn { try await $0.listIdentities($1) })
        router.post("/users/me/identities", changing { try await $0.linkIdentity($1, $2) })
        router.delete("/users/me/identities/{id}", changing { try await $0.unlinkIdentity($1) })
        router.get("/users/me/sessions", signedIn { try await $0.listSessions($1) })
        // Not among the changes that are limited: who has stolen a session could use them up, and could not be thrown out.
        router.delete("/users/me/sessions", signedIn { try await $0.revokeOtherSessions($1) })
        router.delete("/users/me/sessions/{id}", signedIn { try await $0.revokeSession($1) })
        router.post("/auth/introspect", forServices { try await $0.introspect($1, $2) })
        router.post("/auth/revoke", forServices { try await $0.revokeToken($1, $2) })
        router.post("/auth/token", enteringOrPage { try await $0.refresh($1, $2) })
        router.delete("/auth/token", signedIn { try await $0.signOut($1) })
        router.post("/auth/{provider}/authorize", changing { try await $0.authorizeTransaction($1, $2) })
        router.get("/auth/{provider}/resources/{name}", changing { try await $0.showResource($1) })
        router.post("/auth/receipts/redeem", forServices { try await $0.redeemReceipt($1, $2) })
        router.get("/.well-known/jwks.json") { _ in try await self.showSigningKeys() }
        addAsyncSignIn(to: &router)
        router.get("/openapi.json") { self.showDocument($0) }
        router.get("/metrics") { try await self.showMetrics($0) }
        router.get("/status") { try await self.showStatus($0) }
        router.get("/status/events") { try await self.showStatusEvents($0) }
        router.get("/healthz") { _ in Self.status("ok") }
        router.get("/readyz") { _ in try await self.readiness() }
        return router
    }

    /// A route that callers need an API key for, or an allowed origin; looked at before anything else.
    private func keyed(
        _ route: @escaping @Sendable (LatchkeyAPI, Request, Admission) async throws -> Response
    ) -> Handler {
        { request in try await route(self, request, try await self.admit(request)) }
    }

    /// As ``keyed(_:)``, for what begins a session or carries one on.
    func entering(
        _ route: @escaping @Sendable (LatchkeyAPI, Request, Admission) async throws -> Response
    ) -> Handler {
        let keyed = keyed(route)
        return { request in
            try self.rates.countSignIn(of: request)
            return try await keyed(request)
        }
    }

    /// As ``paged(_:)``, for what begins a sign-in that is kept until it ends.
    func starting(_ route: @escaping @Sendable (LatchkeyAPI, Request) async throws -> Response) -> Handler {
        paged { api, request in
            try api.rates.countStart(of: request)
            return try await route(api, request)
        }
    }

    /// As ``entering(_:)``, also for pages of this server's own origin, whose session is kept in cookies: they need no
    /// API key.
    private func enteringOrPage(
        _ route: @escaping @Sendable (LatchkeyAPI, Request, Admission) async throws -> Response
    ) -> Handler {
        let keyed = entering(route)
        return { request in
            guard let admission = try self.admitPage(request) else { return try await keyed(request) }
            try self.rates.countSignIn(of: request)
            return try await route(self, request, admission)
        }
    }

    /// As ``signedIn(_:)``, for what changes an account.
    func changing(_ route: @escaping @Sendable (LatchkeyAPI, Request) async throws -> Response) -> Handler {
        changing { api, request, _ in try await route(api, request) }
    }

    private func changing(
        _ route: @escaping @Sendable (LatchkeyAPI, Request, Admission) async throws -> Response
    ) -> Handler {
        signedIn { api, request, admission in
            if api.rates.limitsChanges {
                let user = try await api.holder(of: request).user.id
                try await api.rates.countChange(of: user, with: api.useCases.accountChanges)
            }
            return try await route(api, request, admission)
        }
    }

    /// A route for signed-in callers. A browser shows its session cookie alone, and needs no API key beside it.
    func signedIn(_ route: @escaping @Sendable (LatchkeyAPI, Request) async throws -> Response) -> Handler {
        signedIn { api, request, _ in try await route(api, request) }
    }

    private func signedIn(
        _ route: @escaping @Sendable (LatchkeyAPI, Request, Admission) async throws -> Response
    ) -> Handler {
        { request in
            let admission =
                self.isPage(request) ? Admission(ground: .cookie, clients: nil) : try await self.admit(request)
            // Otherwise a key that is for one client could be used on the sessions of all.
            if admission.clients != nil {
                try admission.check(try await self.holder(of: request).session.clientID)
            }
            return try await route(self, request, admission)
        }
    }

    /// A route for the operator's other services: an allowed origin does not take the place of the key.
    private func forServices(
        _ route: @escaping @Sendable (LatchkeyAPI, Request, Admission) async throws -> Response
    ) -> Handler {
        { request in
            guard request.headers[.apiKey] != nil else { throw APIError.invalidAPIKey }
            return try await route(self, request, try await self.admit(request))
        }
    }

    /// The session token of a signed-in caller: from `Authorization`, or from the browser's cookie.
    /// - Throws: 401 without one; 403 if a browser asks for a change, and not from a page of this server.
    func sessionToken(of request: Request) throws(APIError) -> Secret {
        guard request.headers.count(of: .authorization) == 0, let token = cookies.session(of: request) else {
            return try request.bearerToken()
        }
        guard
            request.method == .get || request.method == .head
                || SameOrigin.isSent(by: request, to: publicAddress.origin)
        else { throw .crossSiteRequest }
        return token
    }

    var cookies: BrowserCookies { BrowserCookies(isSecure: publicAddress.url?.hasPrefix("https://") ?? true) }

    /// Lets a request in by its API key, or without one by its origin.
    /// - Throws: 401; 503 if the store cannot tell whether there is such a key.
    func admit(_ request: Request) async throws -> Admission {
        guard let key = request.headers[.apiKey] else {
            guard request.headers.count(of: .apiKey) == 0, let (origin, grant) = crossOrigin.grant(of: request) else {
                throw APIError.invalidAPIKey
            }
            return Admission(ground: .origin(origin), clients: grant.clients)
        }
        let digest = APIKeyDigest(of: key)
        guard let grant = try await grant(for: digest) else { throw APIError.invalidAPIKey }
        if let origins = grant.origins {
            guard let origin = CrossOrigin.origin(of: request), origins.contains(origin) else {
                throw APIError.keyNotForOrigin
            }
        }
        try rates.countKey(digest.number)
        return Admission(ground: .key(key), clients: grant.clients, isOperator: grant.isOperator)
    }

    private func grant(for digest: APIKeyDigest) async throws(SignInError) -> APIGrant? {
        if let grant = apiKeys.grant(for: digest) { return grant }
        return try await useCases.apiKeys.grant(for: digest)
    }

    private func readiness() async throws -> Response {
        guard !isDraining.load(ordering: .relaxed), await useCases.readiness.isReady() else {
            throw APIError.notReady
        }
        return Self.status("ready")
    }

    static func status(_ text: String) -> Response {
        var json = JSONObjectWriter(capacity: 32)
        json.add("status", text)
        return .json(.ok, json.finish())
    }
}

extension Request {
    var provider: String { parameters["provider"] ?? "" }
}
