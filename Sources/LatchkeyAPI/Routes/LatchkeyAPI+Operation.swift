package import HTTPServer
import HTTPTypes
package import Primitives
import SignIn
import Synchronization

extension LatchkeyAPI {
    func readiness() async throws -> Response {
        guard !isDraining.load(ordering: .relaxed), await useCases.readiness.isReady() else {
            throw APIError.notReady
        }
        return Self.status("ready")
    }

    static func status(_ text: String) -> Response {
        return .json(.ok, capacity: 32) { json in json.add("status", text) }
    }

    /// `GET /metrics` beside the API: for allowed addresses only. For others it is 404.
    func showMetrics(_ request: Request) async throws -> Response {
        guard let metricsEndpoint, metricsEndpoint.isServedHere,
            rates.proxies.admit(request, from: metricsEndpoint.allowedAddresses)
        else { throw APIError.nothingThere }
        return try await showMetricsToAll()
    }

    /// Serves the metrics on a separate address, to every client there.
    package var metricsHandler: Handler {
        var router = Router()
        router.get("/metrics") { _ in try await self.showMetricsToAll() }
        router.get("/healthz") { _ in Self.status("ok") }
        return handler(with: router)
    }

    private func showMetricsToAll() async throws -> Response {
        guard let metricsEndpoint else { throw APIError.nothingThere }
        return Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store"],
            body: await metricsEndpoint.text())
    }
}

extension APIError {
    /// The response on a path without a route.
    package static var nothingThere: APIError { APIError(HTTPError.nothingHere) }
}

/// `GET /metrics`, for administrators' monitoring.
package struct MetricsEndpoint: Sendable {
    /// The current metrics in the Prometheus text format.
    let text: @Sendable () async -> [UInt8]
    /// Whether they are served beside the API, too.
    package var isServedHere = true
    /// The addresses that may read them there.
    package var allowedAddresses = IPAddressRange.loopback

    /// For this machine only.
    package init(_ text: @escaping @Sendable () async -> [UInt8]) { self.text = text }
}
