import OutboundHTTP
import Primitives

/// Requests the health of a running server.
package enum HealthCheck {
    /// The health of a server on this machine that has these environment variables: a container needs no shell for it.
    package static func url(in environment: [String: String]) -> String {
        let port = environment["LATCHKEY_HTTP_PORT"] ?? ""
        return "http://127.0.0.1:\(port.isEmpty ? "8080" : port)/healthz"
    }

    /// The status of the response of a URL.
    /// - Throws: ``AdministratorError`` for a URL that is neither https nor on a loopback address, or without a
    ///   response within 3 seconds.
    package static func status(of text: String) async throws -> Int {
        guard let url = EndpointURL(text, policy: .allowLoopbackHTTP) else {
            throw AdministratorError("\(text) is not an https URL, nor an http one on a loopback address")
        }
        var configuration = OutboundHTTPConfiguration()
        configuration.addressPolicy = AddressPolicy(allowLoopback: true, allowPrivateNetworks: true)
        configuration.allowLoopbackHTTP = true
        let client = try OutboundHTTPClient(configuration)
        let request = OutboundRequest(method: .get, url: url, timeout: .seconds(3), maximumBodyBytes: 65536)
        let result: Result<Int, AdministratorError>
        do throws(OutboundError) {
            result = .success(try await client.send(request).status)
        } catch {
            result = .failure(AdministratorError("\(text): \(error.reason)"))
        }
        await client.shutdown()
        return try result.get()
    }
}
