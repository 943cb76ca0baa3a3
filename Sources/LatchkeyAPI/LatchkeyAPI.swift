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
/// let server = Server(
///     configuration: …, logger: logger, errorRenderer: api.errorRenderer, handler: api.immediateHandler())
/// ```
package final class LatchkeyAPI: Sendable {
    let useCases: UseCases
    let apiKeys: APIKeys
    let crossOrigin: CrossOrigin
    let files: StaticFiles?
    /// Whether the files have the developer console.
    let hasConsole: Bool
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
    let administratorPages: AdministratorPages
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
    ///   - files: Served at `/` and on paths without a route. Without an `index.html`, `/` is the sign-in page.
    ///   - hasConsole: Whether the files have the developer console at `/`, to which the sign-in page then links.
    ///   - baseURL: The URL of this server; redirects and backchannel authentication need it.
    ///   - clientKeys: The keys of clients whose public halves are published.
    ///   - decryptionKeys: The keys for encrypted ID tokens whose public halves are published.
    ///   - certificates: The self-signed certificates of clients, which are published.
    ///   - limits: None by default.
    ///   - compatibility: Where responses follow the published example API rather than docs/.
    ///   - administratorPages: Pages for operators only.
    ///   - version: The program's version, for the OpenAPI document.
    ///   - demonstration: Set in the demonstration, for its pages.
    ///   - tracer: Gets each request as a span; nil for no tracing.
    package init(
        useCases: UseCases, apiKeys: APIKeys, allowedOrigins: [String] = [], clientOrigins: [String: Set<String>] = [:],
        clientKeys: [ClientKey] = [], decryptionKeys: [DecryptionKey] = [], certificates: [ClientTLS] = [],
        files: StaticFiles? = nil, hasConsole: Bool = false,
        baseURL: BaseURL = BaseURL(), compatibility: Compatibility = Compatibility(),
        limits: RequestLimits = RequestLimits(), administratorPages: AdministratorPages = AdministratorPages(),
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
        self.hasConsole = hasConsole
        self.baseURL = baseURL
        accessLog = AccessLog(logger: logger, refusals: useCases.refusals)
        requestIDs = RequestIDs(random: random)
        self.compatibility = compatibility
        rates = RateGuard(limits, uptime: uptime)
        traces = RequestTraces(tracer: tracer, baseURL: baseURL)
        self.version = version
        self.demonstration = demonstration
        self.administratorPages = administratorPages
        let currentProxies: @Sendable () -> TrustedProxies = { [rates] in rates.proxies }
        metricsAllowlist = AddressAllowlist(
            allowed: administratorPages.allowedAddresses, currentProxies: currentProxies)
        statusAllowlist = AddressAllowlist(
            allowed: AdministratorPages().allowedAddresses, currentProxies: currentProxies)
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
        let handler = immediateHandler(with: router, observe)
        return { request in try await handler(request).run() }
    }

    /// As ``handler(observedBy:)``; needs no task for requests that are responded to from memory.
    package func immediateHandler(observedBy observe: RequestObserver? = nil) -> ImmediateHandler {
        immediateHandler(with: makeRouter(), observe)
    }

    private func immediateHandler(with router: Router, _ observe: RequestObserver?) -> ImmediateHandler {
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

    /// The requests in progress and the refused ones.
    package var load: RequestLoad { rates.load }

    /// The responses of refusals before the handler.
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
        let current = RequestInProgress(request: request, route: match.number, observe: observe)
        do {
            switch try limited(request, router, match) {
            case .value(let response): return .value(complete(current, response))
            case .task(let work):
                return .task {
                    do {
                        return self.complete(current, try await work())
                    } catch {
                        return self.complete(current, self.response(to: error, of: current.request))
                    }
                }
            }
        } catch {
            return .value(complete(current, response(to: error, of: request)))
        }
    }

    private struct RequestInProgress {
        let request: Request
        let route: Int?
        let observe: RequestObserver?
        let stopwatch = Stopwatch()
    }

    private func complete(_ current: RequestInProgress, _ response: consuming Response) -> Response {
        let request = current.request
        mark(&response, request.id)
        crossOrigin.mark(&response, for: request)
        let nanoseconds = current.stopwatch.nanoseconds
        let status = response.status.code
        accessLog.write(request, status: status, took: nanoseconds)
        current.observe?(
            CompletedRequest(route: current.route, method: request.method, status: status, nanoseconds: nanoseconds))
        return response
    }

    @inline(never)
    private func response(to error: any Error, of request: Request) -> Response {
        let error = render(error)
        if error.isUnknownPath, request.method == .get || request.method == .head, request.prefersHTML {
            return BrowserPages.nothingThere(requestID: request.id, below: baseURL.path)
        }
        return error.response(requestID: request.id, asProblem: request.acceptsProblemDetails)
    }

    /// The paths of health checks and metrics, which work under any load.
    package static let probePaths: Set<String> = ["/healthz", "/readyz", "/metrics"]

    private func limited(
        _ request: Request, _ router: Router, _ match: Router.Match
    ) throws -> ValueOrTask<Response> {
        // `probePaths`, compared one by one: that costs less than a hash of the path.
        if request.path == "/healthz" || request.path == "/readyz" || request.path == "/metrics" {
            return try router.respond(to: request, at: match)
        }
        guard rates.enter(isSessionCheck: Self.isSessionCheck(request)) else { throw APIError.overloaded }
        do {
            let response = try counted(request, router, match)
            guard case .task(let work) = response else {
                rates.leave()
                return response
            }
            return .task {
                defer { self.rates.leave() }
                return try await work()
            }
        } catch {
            rates.leave()
            throw error
        }
    }

    private func counted(
        _ request: Request, _ router: Router, _ match: Router.Match
    ) throws -> ValueOrTask<Response> {
        let notice = try rates.countAddress(of: request)
        let isPreflight = crossOrigin.isPreflight(request)
        if notice == nil, !isPreflight { return try router.respond(to: request, at: match) }
        return .task {
            if isPreflight, let response = await self.crossOrigin.preflight(request) { return response }
            guard let notice else { return try await router.respond(to: request, at: match).run() }
            var response: Response
            do {
                response = try await router.respond(to: request, at: match).run()
            } catch {
                response = self.response(to: error, of: request)
            }
            notice.mark(&response)
            return response
        }
    }

    func render(_ error: any Error) -> APIError {
        switch error {
        case let error as APIError:
            accessLog.write(error)
            return error
        case let error as SignInError: return APIError(error)
        case let error as HTTPError: return APIError(error)
        default:
            let type = "\(type(of: error))"
            accessLog.refusals.log(.error, "a handler failed", of: "a handler failed \(type)", to: accessLog.logger) {
                ["error": "\(type)"]
            }
            return APIError(HTTPError.internalServerError)
        }
    }

    /// RFC 6797, for a year. Subdomains are left to the operator.
    private static let strictTransport = HTTPField(name: .strictTransportSecurity, value: "max-age=31536000")

    private func mark(_ response: inout Response, _ requestID: String) {
        response.requestID = requestID
        if baseURL.isHTTPS { response.headers.append(Self.strictTransport) }
    }
}
