package import HTTPServer
import HTTPTypes
package import Logging
package import OpenIDConnect
package import Primitives
package import SignIn
import Synchronization
package import Tracing

/// Latchkey over HTTP: its routes, and one form for all errors.
///
/// ```swift
/// let api = LatchkeyAPI(useCases: useCases, apiKeys: keys, logger: logger)
/// let server = Server(configuration: …, logger: logger, errorRenderer: api.errorRenderer, handler: api.handler())
/// ```
package final class LatchkeyAPI: Sendable {
    let useCases: UseCases
    let apiKeys: APIKeys
    let crossOrigin: CrossOrigin
    let files: StaticFiles?
    let accessLog: AccessLog
    private let requestIDs: RequestIDs
    let baseURL: BaseURL
    let compatibility: Compatibility
    let rates: RateGuard
    let isDraining = Atomic(false)
    private let traces: RequestTraces
    let version: String
    let demonstration: Demonstration?
    let documentPage = Mutex<DocumentPage?>(nil)
    let operatorPages: OperatorPages
    let metricsAllowlist: AddressAllowlist
    /// For the status page: this machine only.
    let statusAllowlist: AddressAllowlist
    let statusWatchers = CountLimit(maximum: 16)
    /// The keys of clients whose public halves are published.
    private let clientKeys: Mutex<[ClientKey]>
    /// The keys for encrypted ID tokens whose public halves are published.
    let decryptionKeys: [DecryptionKey]
    /// The self-signed certificates of clients, which are published as they are at the time.
    let certificates: [ClientTLS]

    /// - Parameters:
    ///   - allowedOrigins: Web frontends on other origins, which need no API key.
    ///   - clientOrigins: Origins that need no API key for certain clients only.
    ///   - files: Served at `/` and on paths without a route.
    ///   - baseURL: The URL of this server; redirects and backchannel authentication need it.
    ///   - clientKeys: The keys of clients whose public halves are published.
    ///   - decryptionKeys: The keys for encrypted ID tokens whose public halves are published.
    ///   - certificates: The self-signed certificates of clients, which are published.
    ///   - limits: None by default.
    ///   - compatibility: Where responses follow the published example API rather than docs/.
    ///   - operatorPages: Pages for operators only.
    ///   - version: The program's version, for the OpenAPI document.
    ///   - demonstration: Set in the demonstration, for its pages.
    ///   - tracer: Gets each request as a span; nil for no tracing.
    package init(
        useCases: UseCases, apiKeys: APIKeys, allowedOrigins: [String] = [], clientOrigins: [String: Set<String>] = [:],
        clientKeys: [ClientKey] = [], decryptionKeys: [DecryptionKey] = [], certificates: [ClientTLS] = [],
        files: StaticFiles? = nil,
        baseURL: BaseURL = BaseURL(), compatibility: Compatibility = Compatibility(),
        limits: RequestLimits = RequestLimits(), operatorPages: OperatorPages = OperatorPages(),
        uptime: Uptime = .system, version: String = "unreleased", demonstration: Demonstration? = nil,
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
        accessLog = AccessLog(logger: logger)
        requestIDs = RequestIDs(random: random)
        self.compatibility = compatibility
        rates = RateGuard(limits, uptime: uptime)
        traces = RequestTraces(tracer: tracer)
        self.version = version
        self.demonstration = demonstration
        self.operatorPages = operatorPages
        let currentProxies: @Sendable () -> TrustedProxies = { [rates] in rates.proxies }
        metricsAllowlist = AddressAllowlist(allowed: operatorPages.allowedAddresses, currentProxies: currentProxies)
        statusAllowlist = AddressAllowlist(allowed: OperatorPages().allowedAddresses, currentProxies: currentProxies)
    }

    /// Makes `GET /readyz` return 503, so that load balancers send no more requests while the server finishes.
    package func beginDraining() { isDraining.store(true, ordering: .relaxed) }

    /// Replaces the limits; a limit that does not change keeps its counts.
    package func replaceLimits(_ limits: RequestLimits) { rates.replace(limits) }

    /// Replaces the published keys of clients.
    package func publish(_ keys: [ClientKey]) { clientKeys.withLock { $0 = keys } }

    var publishedClientKeys: [ClientKey] { clientKeys.withLock { $0 } }

    /// Responds to every request, and reports it when it is completed; never throws.
    package func handler(observedBy observe: RequestObserver? = nil) -> Handler {
        handler(with: makeRouter(), observe)
    }

    func handler(with router: Router, _ observe: RequestObserver? = nil) -> Handler {
        let patterns = router.patterns
        return { request in
            let match = router.match(request)
            return await self.traces.respond(to: request, at: match.number.map { patterns[$0] }) {
                await self.respond(to: request, router, match, observe)
            }
        }
    }

    /// The patterns of all routes, by their numbers in ``CompletedRequest``.
    package var routePatterns: [String] { makeRouter().patterns }

    /// The requests in progress and the refused ones.
    package var load: RequestLoad { rates.load }

    /// The responses of refusals before the handler.
    package var errorRenderer: ErrorRenderer { { error, request in self.refusal(APIError(error), of: request) } }

    /// The response of a refusal before the handler. The request is nil if it could not be read.
    func refusal(_ error: APIError, of request: Request?) -> Response {
        let requestID = requestIDs.next()
        let response = error.response(requestID: requestID, asProblem: request?.acceptsProblemDetails ?? false)
        return finished(response, request, requestID)
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
            response = render(error, of: request).response(
                requestID: requestID, asProblem: request.acceptsProblemDetails)
        }
        response = finished(response, request, requestID)
        let nanoseconds = stopwatch.nanoseconds
        accessLog.write(request, response, requestID: requestID, took: nanoseconds)
        observe?(
            CompletedRequest(
                route: match.number, method: request.method, status: response.status.code, nanoseconds: nanoseconds))
        return response
    }

    /// The paths of health checks and metrics, which work under any load.
    package static let probePaths: Set<String> = ["/healthz", "/readyz", "/metrics"]

    private func limited(_ request: Request, _ router: Router, _ match: Router.Match) async throws -> Response {
        // `probePaths`, compared one by one: that costs less than a hash of the path.
        if request.path == "/healthz" || request.path == "/readyz" || request.path == "/metrics" {
            return try await router.respond(to: request, at: match)
        }
        guard rates.enter(isSessionCheck: Self.isSessionCheck(request)) else { throw APIError.overloaded }
        defer { rates.leave() }
        let notice = try rates.countAddress(of: request)
        if let preflight = await crossOrigin.preflight(request) { return preflight }
        guard let notice else { return try await router.respond(to: request, at: match) }
        var response: Response
        do {
            response = try await router.respond(to: request, at: match)
        } catch {
            response = render(error, of: request).response(
                requestID: request.id, asProblem: request.acceptsProblemDetails)
        }
        notice.mark(&response)
        return response
    }

    func render(_ error: any Error, of request: Request) -> APIError {
        switch error {
        case let error as APIError:
            accessLog.write(error)
            return error
        case let error as SignInError:
            guard error.field != nil else { return APIError(error) }
            guard let fields = (try? BodyFields(request)) ?? (try? request.query).map(BodyFields.form) else {
                return APIError(error)
            }
            return APIError(FieldReader(fields).named(error))
        case let error as HTTPError: return APIError(error)
        default:
            accessLog.logger.error("a handler failed", metadata: ["error": "\(type(of: error))"])
            return APIError(HTTPError.internalServerError)
        }
    }

    /// RFC 6797, for a year. Subdomains are left to the operator.
    private static let strictTransport = HTTPField(name: .strictTransportSecurity, value: "max-age=31536000")

    private func finished(_ response: Response, _ request: Request?, _ requestID: String) -> Response {
        var response = response
        response.headers.append(HTTPField(name: .requestID, value: requestID))
        if baseURL.isHTTPS { response.headers.append(Self.strictTransport) }
        if let request { crossOrigin.mark(&response, for: request) }
        return response
    }
}
