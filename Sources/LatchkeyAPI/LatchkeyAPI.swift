package import HTTPServer
import HTTPTypes
package import Logging
package import OpenIDConnect
package import Primitives
package import SignIn
import StorageModel
import Synchronization
package import Tracing

/// Latchkey over HTTP: its routes, and one form for all errors.
public final class LatchkeyAPI: Sendable {
    package let useCases: UseCases
    let apiKeys: APIKeys
    let crossOrigin: CrossOrigin
    let files: StaticFiles?
    let accessLog: AccessLog
    private let requestIDs: RequestIDs
    package let baseURL: BaseURL
    package let compatibility: Compatibility
    let rates: RateGuard
    let isDraining = Atomic(false)
    private let traces: RequestTraces
    let version: String
    package let features: [any APIFeature]
    package let registration: (any PageRegistration)?
    package let keyProofs: (any KeyProofs)?
    let documentPage = Mutex<DocumentPage?>(nil)
    let metricsEndpoint: MetricsEndpoint?
    /// The keys of clients whose public halves are published.
    let clientKeys: Mutex<[ClientKey]>
    /// The keys for encrypted ID tokens whose public halves are published.
    let decryptionKeys: [DecryptionKey]
    /// The self-signed certificates of clients, which are published as they are at the time.
    let certificates: [ClientTLS]

    /// - Parameters:
    ///   - allowedOrigins: Web frontends on other origins, which need no API key.
    ///   - files: Served at `/` and on paths without a route.
    ///   - baseURL: Redirects and backchannel authentication need it.
    ///   - tracer: Gets each request as a span; nil for no tracing.
    package init(
        useCases: UseCases, apiKeys: APIKeys, allowedOrigins: [String] = [], clientOrigins: [String: Set<String>] = [:],
        clientKeys: [ClientKey] = [], decryptionKeys: [DecryptionKey] = [], certificates: [ClientTLS] = [],
        files: StaticFiles? = nil, baseURL: BaseURL = BaseURL(), compatibility: Compatibility = Compatibility(),
        limits: RequestLimits = RequestLimits(), metricsEndpoint: MetricsEndpoint? = nil,
        uptime: Uptime = .system, version: String = "unreleased", features: [any APIFeature] = [],
        tracer: (any Tracer)? = nil, logger: Logger, random: RandomSource = .system
    ) {
        self.useCases = useCases
        self.apiKeys = apiKeys
        crossOrigin = CrossOrigin(allowedOrigins, clientOrigins: clientOrigins, keys: apiKeys, stored: useCases.apiKeys)
        self.clientKeys = Mutex(clientKeys)
        self.decryptionKeys = decryptionKeys
        self.certificates = certificates
        self.files = files
        self.baseURL = baseURL
        accessLog = AccessLog(logger: logger, refusals: useCases.environment.refusals)
        requestIDs = RequestIDs(random: random)
        self.compatibility = compatibility
        rates = RateGuard(limits, uptime: uptime)
        traces = RequestTraces(tracer: tracer, baseURL: baseURL)
        self.version = version
        self.features = features
        registration = features.lazy.compactMap(\.registration).first
        keyProofs = features.lazy.compactMap(\.keyProofs).first
        self.metricsEndpoint = metricsEndpoint
    }

    /// Makes `GET /readyz` return 503, so that load balancers send no more requests while the server finishes.
    package func beginDraining() { isDraining.store(true, ordering: .relaxed) }

    /// Replaces the limits; a limit that does not change keeps its counts.
    package func replaceLimits(_ limits: RequestLimits) { rates.replace(limits) }

    package func publish(_ keys: [ClientKey]) { clientKeys.withLock { $0 = keys } }

    package var redirects: (any BrowserRedirects)? { features.lazy.compactMap { $0.redirects(of: self) }.first }

    package var sessionErrand: SessionErrand? { features.lazy.compactMap { $0.sessionErrand(of: self) }.first }

    /// As ``immediateHandler(with:observedBy:)``, for those who wait anyway.
    package func handler(with router: Router? = nil) -> Handler {
        let handler = immediateHandler(with: router)
        return { request in try await handler(request).run() }
    }

    /// Responds to every request, and reports it when it is completed; never throws. Needs no task for requests that
    /// are responded to from memory.
    package func immediateHandler(
        with router: Router? = nil, observedBy observe: RequestObserver? = nil
    ) -> ImmediateHandler {
        let router = router ?? makeRouter()
        let patterns = router.patterns
        return { request in
            let match = router.match(request)
            guard self.traces.mayTrace(request) else { return self.respond(to: request, router, match, observe) }
            return .task {
                try await self.traces.respond(to: request, at: match.number.map { patterns[$0] }) {
                    try await self.respond(to: request, router, match, observe).run()
                }
            }
        }
    }

    /// The patterns of all routes, by their numbers in ``CompletedRequest``.
    package var routePatterns: [String] { makeRouter().patterns }

    package var load: RequestLoad { rates.load }

    package var errorRenderer: ErrorRenderer { { error, request in self.refusal(APIError(error), of: request) } }

    /// The response of a refusal before the handler. The request is nil if it could not be read.
    func refusal(_ error: APIError, of request: Request?) -> Response {
        let requestID = requestIDs.next()
        var response = error.response(requestID: requestID, asProblem: request?.acceptsProblemDetails ?? false)
        mark(&response, requestID)
        if let request { crossOrigin.mark(&response, for: request) }
        return response
    }

    private func respond(
        to received: Request, _ router: Router, _ match: Router.Match, _ observe: RequestObserver?
    ) -> ValueOrTask<Response> {
        var request = received
        request.id = requestIDs.next()
        // `probePaths`, compared one by one: that costs less than a hash of the path.
        let isProbe = request.path == "/healthz" || request.path == "/readyz" || request.path == "/metrics"
        let isCounted = !isProbe && rates.enter(isSessionCheck: Self.isSessionCheck(request))
        let current = RequestInProgress(request: request, route: match.number, isCounted: isCounted, observe: observe)
        do {
            guard isProbe || isCounted else { throw APIError.overloaded }
            switch try isProbe ? router.respond(to: request, at: match) : counted(request, router, match) {
            case .value(let response): return .value(complete(current, response))
            case .task(let work):
                return .task {
                    do {
                        return self.complete(current, try await work())
                    } catch {
                        return self.complete(current, self.response(to: error, of: current.request), after: error)
                    }
                }
            }
        } catch {
            return .value(complete(current, response(to: error, of: request), after: error))
        }
    }

    private struct RequestInProgress {
        let request: Request
        let route: Int?
        /// Whether it is one of the requests in progress, which are limited.
        let isCounted: Bool
        let observe: RequestObserver?
        let stopwatch = Stopwatch()
    }

    private func complete(
        _ current: RequestInProgress, _ response: consuming Response, after error: (any Error)? = nil
    ) -> Response {
        if current.isCounted { rates.leave() }
        let request = current.request
        mark(&response, request.id)
        crossOrigin.mark(&response, for: request)
        let nanoseconds = current.stopwatch.nanoseconds
        let status = response.status.code
        accessLog.write(request, status: status, took: nanoseconds, after: error)
        current.observe?(
            CompletedRequest(route: current.route, method: request.method, status: status, nanoseconds: nanoseconds))
        return response
    }

    @inline(never)
    private func response(to error: any Error, of request: Request) -> Response {
        if let noticed = error as? NoticedError {
            var response = response(to: noticed.error, of: request)
            noticed.notice.mark(&response)
            return response
        }
        let error = render(error)
        if error.isUnknownPath, request.method == .get || request.method == .head, request.prefersHTML {
            return BrowserPages.nothingThere(requestID: request.id, below: baseURL.path)
        }
        return error.response(requestID: request.id, asProblem: request.acceptsProblemDetails)
    }

    /// The paths of health checks and metrics, which work under any load.
    package static let probePaths: Set<String> = ["/healthz", "/readyz", "/metrics"]

    private func counted(
        _ request: Request, _ router: Router, _ match: Router.Match
    ) throws -> ValueOrTask<Response> {
        let notice = try rates.countAddress(of: request)
        let isPreflight = crossOrigin.isPreflight(request) && !router.servesOptions(at: match)
        if notice == nil, !isPreflight { return try router.respond(to: request, at: match) }
        return .task {
            if isPreflight, let response = await self.crossOrigin.preflight(request) { return response }
            guard let notice else { return try await router.respond(to: request, at: match).run() }
            do {
                var response = try await router.respond(to: request, at: match).run()
                notice.mark(&response)
                return response
            } catch {
                throw NoticedError(error: error, notice: notice)
            }
        }
    }

    package func render(_ error: any Error) -> APIError {
        switch error {
        case let error as APIError:
            accessLog.write(error)
            return error
        case let error as SignInError: return APIError(error)
        case let error as HTTPError: return APIError(error)
        case let error as StorageError: return APIError(SignInError(error))
        default:
            let type = "\(type(of: error))"
            accessLog.refusals.log(.error, "a handler failed", of: "a handler failed \(type)", to: accessLog.logger) {
                ["error": "\(type)"]
            }
            return APIError(HTTPError.internalServerError)
        }
    }

    /// RFC 6797, for a year. Subdomains are left to the administrator.
    private static let strictTransport = HTTPField(name: .strictTransportSecurity, value: "max-age=31536000")

    private func mark(_ response: inout Response, _ requestID: String) {
        response.requestID = requestID
        if baseURL.isHTTPS { response.headers.append(Self.strictTransport) }
    }
}

/// All routes and their handlers. The wrapper around a handler is its access rule (`Admission.swift`); a
/// route without one is open, or authenticates callers itself.
extension LatchkeyAPI {
    func makeRouter() -> Router {
        var router = Router()
        if let files { router.files = { try await files.respond(to: $0) } }
        addCoreRoutes(to: &router)
        for feature in features { feature.addRoutes(to: &router, of: self) }
        return router
    }

    /// The method and pattern of a route that a feature adds and the core or another feature, too: the later would
    /// replace the earlier, also its access rule.
    package var routeAddedTwice: String? {
        var core = Router()
        addCoreRoutes(to: &core)
        let ofFeatures = features.flatMap { feature in
            var router = Router()
            feature.addRoutes(to: &router, of: self)
            return router.routes
        }
        var seen: Set<String> = []
        return (core.routes + ofFeatures).map { "\($0.method) \($0.pattern)" }.first { !seen.insert($0).inserted }
    }

    private func addCoreRoutes(to router: inout Router) {
        router.post(
            "/auth/zenkey-signin", admitting(.entering, immediate: { try $0.signIn($1, $2, provider: "zenkey") }))
        router.post(
            "/auth/{provider}/sign-in",
            admitting(.enteringOrPage, immediate: { try $0.signIn($1, $2, provider: $1.provider) }))
        router.post("/auth/{provider}/attempts", admitting(.enteringOrPage) { try await $0.issueNonce($1, $2) })

        router.get(
            "/users/me", signedIn(immediate: { api, _, caller in .value(api.respond(caller.holder.user, to: caller)) }))
        router.patch("/users/me", changing { try await $0.editUser($1, $2) })
        router.delete("/users/me", changing { try await $0.eraseUser($1, $2) })

        router.post("/auth/token", admitting(.enteringOrPage) { try await $0.refresh($1, $2) })
        router.delete(
            "/auth/token", signedIn(orPage: { try await $0.signOutPage($1) }) { try await $0.signOut($1, $2) })
        router.get("/users/me/sessions", signedIn { api, _, caller in try await api.listSessions(caller) })
        // Not limited as changes: the thief of a session could use up the quota, and could then not be thrown out.
        router.delete("/users/me/sessions", signedIn { try await $0.revokeOtherSessions($1, $2) })
        router.delete("/users/me/sessions/{id}", signedIn { try await $0.revokeSession($1, $2) })

        router.get("/.well-known/jwks.json") { try await self.showSigningKeys($0) }
        router.get("/openapi.json") { self.showDocument($0) }
        router.get("/metrics") { try await self.showMetrics($0) }
        router.get("/healthz") { _ in Self.status("ok") }
        router.get("/readyz") { _ in try await self.readiness() }
    }
}

/// The URL at which browsers and providers reach this server: as configured, or, for a server on loopback only, the
/// bound address.
package final class BaseURL: Sendable {
    private let base: Mutex<String?>
    /// Whether it is https. A bound address is plain http.
    let isHTTPS: Bool

    /// - Parameter configured: An http or https URL; nil if there is none.
    package init(_ configured: String? = nil) {
        base = Mutex(configured.map(Self.withoutSlash))
        isHTTPS = configured?.hasPrefix("https://") ?? false
    }

    package func settle(_ url: String) { base.withLock { $0 = $0 ?? Self.withoutSlash(url) } }

    /// The URL without a slash at its end.
    package var url: String? { base.withLock { $0 } }

    /// Scheme, host and port of ``url``, as browsers write an origin.
    package var origin: String? { url.flatMap(AppRedirectURI.origin) }

    var host: String? { url.flatMap { EndpointURL($0, policy: .allowLoopbackHTTP)?.host } }

    /// The path of ``url``, below which a proxy serves this server; empty for the root.
    package var path: String {
        guard let url, let scheme = url.firstRange(of: "://"), let slash = url[scheme.upperBound...].firstIndex(of: "/")
        else { return "" }
        return String(url[slash...])
    }

    private static func withoutSlash(_ url: String) -> String {
        url.hasSuffix("/") ? String(url.dropLast()) : url
    }
}

extension LatchkeyAPI {
    /// The URL of this server, for what others are told.
    /// - Throws: `not_found` if it is not known.
    package func publicURL() throws(APIError) -> String {
        guard let url = baseURL.url else {
            throw APIError(
                .notFound, "not_found", .configurationError,
                "This server does not know its public URL. The administrator must set public_url.")
        }
        return url
    }
}
