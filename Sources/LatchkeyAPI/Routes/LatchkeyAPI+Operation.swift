package import HTTPServer
import HTTPTypes
import OpenIDConnect
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

    /// `GET /.well-known/jwks.json` (RFC 7517 section 5): the keys that sign receipts and seals, then those of clients.
    /// Without the former there is no set, because a set without them would be cached.
    func showSigningKeys(_ request: Request) async throws -> Response {
        var keys: [(inout JSONObjectWriter) -> Void] = try await useCases.signingKeys.published().map {
            $0.writePublicKey
        }
        keys += clientKeys.withLock { $0 }.map { $0.writePublicKey } + decryptionKeys.map { $0.writePublicKey }
        // One by one: the process ends at the conversion of an array of sendable functions.
        for certificate in certificates {
            if let write = certificate.certificate.writePublicKey { keys.append(write) }
        }
        var json = JSONObjectWriter(capacity: 1024)
        json.add("keys", objects: keys) { write, json in write(&json) }
        let body = json.finish()
        let tag = Response.tag(of: body)
        let response = Response(
            status: .ok,
            headers: [
                .contentType: "application/jwk-set+json",
                .cacheControl: "public, max-age=\(SigningKeys.cacheLifetime)", .eTag: tag,
            ], body: body)
        return response.unlessKnown(tag, to: request)
    }
}

extension APIError {
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
