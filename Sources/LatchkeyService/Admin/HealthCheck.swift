import HTTPServer
package import LatchkeyConfiguration
import OutboundHTTP
import Primitives

/// Requests the health of a running server.
package enum HealthCheck {
    /// The health of the server of a configuration, at the loopback address if it listens on all.
    /// - Throws: ``AdministratorError`` if the system chose its port.
    package static func url(of http: Configuration.HTTP) throws -> String {
        guard http.port != 0 else {
            throw AdministratorError("http.port is 0, so that the port of the server is not known; give the URL")
        }
        let host = http.hosts.first ?? "127.0.0.1"
        // Alone, the wildcard of IPv6 accepts IPv4, too, which every system has.
        let isWildcard = IPAddress(host)?.isIPv6Wildcard == true
        let asked =
            host == "0.0.0.0" || isWildcard && http.hosts.count == 1 ? "127.0.0.1" : isWildcard ? "::1" : host
        return "http://\(SocketAddress(host: asked, port: http.port))/healthz"
    }

    /// The status of the response of a URL.
    /// - Parameter isOwn: Whether it is that of a configuration. Plain http to it may use any address, otherwise only
    ///   loopback.
    /// - Throws: ``AdministratorError`` for a URL that is not allowed, or without a response within 3 seconds.
    package static func status(of text: String, isOwn: Bool = false) async throws -> Int {
        let policy = isOwn ? EndpointURL.Policy.allowHTTP : .allowLoopbackHTTP
        guard let url = EndpointURL(text, policy: policy) else {
            throw AdministratorError("\(text) is not an https URL, nor an http one on a loopback address")
        }
        var configuration = OutboundHTTPConfiguration()
        configuration.addressPolicy = AddressPolicy(allowLoopback: true, allowPrivateNetworks: true)
        configuration.addressPolicy.allowsAll = isOwn
        configuration.urlPolicy = policy
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
