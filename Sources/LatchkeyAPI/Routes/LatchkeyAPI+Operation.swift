package import HTTPServer
import HTTPTypes
import Primitives
import SignIn
import Synchronization

/// Health checks, metrics and readiness.
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
        guard administratorPages.servesMetricsHere, metricsAllowlist.contains(request) else {
            throw APIError.nothingThere
        }
        return try await metricsPage()
    }

    /// Serves the metrics on an address of their own, to every client there.
    package var metricsHandler: Handler {
        var router = Router()
        router.get("/metrics") { _ in try await self.metricsPage() }
        router.get("/healthz") { _ in Self.status("ok") }
        return handler(with: router)
    }

    private func metricsPage() async throws -> Response {
        guard let metrics = administratorPages.metrics else { throw APIError.nothingThere }
        return Response(
            status: .ok,
            headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8", .cacheControl: "no-store"],
            body: await metrics())
    }
}

extension APIError {
    /// The response on a path without a route.
    static var nothingThere: APIError { APIError(HTTPError.nothingHere) }
}
