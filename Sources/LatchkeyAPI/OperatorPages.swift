public import HTTPServer
import HTTPTypes
public import Primitives
import SignIn

/// What is told to operators and their monitoring, and to nobody else.
public struct OperatorPages: Sendable {
    /// The metrics as they are now, in Prometheus' text format; nil where there are none.
    public var metrics: (@Sendable () async -> [UInt8])?
    /// Whether they are to be had where the API is, too, and not on an address of their own alone.
    public var servesMetricsHere = true
    /// Who may have them there, by address.
    public var allowedAddresses = ["127.0.0.0/8", "::1"].compactMap(IPAddressRange.init)

    /// How things stand, for the status page; nil where nobody tells.
    public var status: (@Sendable () async -> ServiceStatus)?
    /// How long it is from one look at that to the next.
    public var statusPause = Duration.seconds(2)

    public init() {}
}

/// Finds out whether a request is of somebody inside: from an address that was allowed, with nobody between who may have
/// passed on somebody else's.
struct Insiders: Sendable {
    let allowed: [IPAddressRange]
    /// Those trusted now: a reload may have changed them.
    let presentProxies: @Sendable () -> TrustedProxies

    /// A request that a proxy has passed on counts as whoever the proxy asks for, if the proxy is trusted, and as nobody
    /// inside if it is not: also one from this very machine, which is where proxies commonly are.
    func include(_ request: Request) -> Bool {
        let proxies = presentProxies()
        let isPassedOn = Self.forwardingFields.contains { request.headers.count(of: $0) > 0 }
        guard let client = isPassedOn ? proxies.toldClient(of: request) : proxies.client(of: request) else {
            return false
        }
        return allowed.contains { $0.contains(client) }
    }

    /// What proxies write; any of them says that the peer is one.
    private static let forwardingFields = [
        "X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Proto",
    ].compactMap { HTTPField.Name($0) }
}

extension LatchkeyAPI {
    /// `GET /metrics`, where the API is: only for insiders. To anybody else there is nothing.
    func showMetrics(_ request: Request) async throws -> Response {
        guard operatorPages.servesMetricsHere, insiders.include(request) else { throw APIError.nothingThere }
        return try await metricsPage()
    }

    /// Answers on the metrics' own address: whoever can reach it may have them.
    public var metricsHandler: Handler {
        var router = Router()
        router.get("/metrics") { _ in try await self.metricsPage() }
        router.get("/healthz") { _ in Self.status("ok") }
        return handler(with: router)
    }

    private func metricsPage() async throws -> Response {
        guard let metrics = operatorPages.metrics else { throw APIError.nothingThere }
        return Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store"],
            body: await metrics())
    }
}

extension APIError {
    /// What a path without a route is answered with.
    static let nothingThere = APIError(
        .notFound, "not_found", .invalidRequest,
        "There is nothing at this path. Look for a typing error in it; paths end without a slash.")
}
