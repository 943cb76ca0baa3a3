public import HTTPServer
import HTTPTypes
import Primitives
import SignIn
import Synchronization

/// What tells monitoring and load balancers how the server is.
extension LatchkeyAPI {
    func readiness() async throws -> Response {
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
