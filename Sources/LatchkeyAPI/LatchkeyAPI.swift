public import HTTPServer
import HTTPTypes
package import Logging
package import Primitives
package import SignIn
import Synchronization
package import Tracing

/// Latchkey over HTTP: its routes, and one form for all errors.
///
/// ```swift
/// let api = LatchkeyAPI(useCases: useCases, apiKeys: keys, logger: logger)
/// let server = Server(configuration: …, logger: logger, errorRenderer: api.errorRenderer, handler: api.handler)
/// ```
public final class LatchkeyAPI: Sendable {
    let useCases: UseCases
    let apiKeys: APIKeys
    let crossOrigin: CrossOrigin
    let files: StaticFiles?
    private let accessLog: AccessLog
    private let requestIDs: RequestIDs
    let publicAddress: BaseURL
    let compatibility: Compatibility
    let rates: RateGuard
    let isDraining = Atomic(false)
    private let traces: RequestTraces
    let version: String
    let demonstration: Demonstration?
    let documentPage = DocumentPage()
    let operatorPages: OperatorPages
    let insiders: AddressAllowlist
    /// Who may see the status page: this very machine.
    let statusAllowlist: AddressAllowlist
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
    package init(
        useCases: UseCases, apiKeys: APIKeys, allowedOrigins: [String] = [], clientOrigins: [String: Set<String>] = [:],
        files: StaticFiles? = nil,
        publicAddress: BaseURL = BaseURL(), compatibility: Compatibility = Compatibility(),
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
        insiders = AddressAllowlist(allowed: operatorPages.allowedAddresses, presentProxies: presentProxies)
        statusAllowlist = AddressAllowlist(allowed: OperatorPages().allowedAddresses, presentProxies: presentProxies)
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
            let match = router.match(request)
            return await self.traces.answer(request, at: match.number.map { patterns[$0] }) {
                await self.respond(to: request, router, match, observe)
            }
        }
    }

    /// The patterns of the paths that are answered, by their numbers in ``CompletedRequest``.
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
        to received: Request, _ router: Router, _ match: Router.Match, _ observe: RequestObserver?
    ) async -> Response {
        let stopwatch = Stopwatch()
        let requestID = requestIDs.next()
        var request = received
        request.id = requestID
        var response: Response
        do {
            response = try await limited(request, router, match)
        } catch {
            response = render(error).response(requestID: requestID)
        }
        response = finished(response, request, requestID)
        let nanoseconds = stopwatch.nanoseconds
        accessLog.write(request, response, requestID: requestID, took: nanoseconds)
        observe?(
            CompletedRequest(
                route: match.number, method: request.method, status: response.status.code, nanoseconds: nanoseconds))
        return response
    }

    private func limited(_ request: Request, _ router: Router, _ match: Router.Match) async throws -> Response {
        // What tells how the server is, however busy it is.
        if request.path == "/healthz" || request.path == "/readyz" || request.path == "/metrics" {
            return try await router.respond(to: request, at: match)
        }
        guard rates.enter() else { throw APIError.overloaded }
        defer { rates.leave() }
        let notice = try rates.countAddress(of: request)
        if let preflight = await crossOrigin.preflight(request) { return preflight }
        guard let notice else { return try await router.respond(to: request, at: match) }
        var response: Response
        do {
            response = try await router.respond(to: request, at: match)
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
