import OpenIDConnect
import OutboundHTTP

/// Asks a running server for its health.
public enum HealthCheck {
    public struct Failure: Error, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// The status that a URL answers with.
    /// - Throws: ``Failure`` if the URL is none that may be asked, or there is no answer within 3 seconds.
    public static func status(of text: String) async throws -> Int {
        guard let url = EndpointURL(text, policy: .allowLoopbackHTTP) else {
            throw Failure(description: "\(text) is not an https URL, nor an http one on a loopback address")
        }
        var configuration = OutboundHTTPConfiguration()
        configuration.addressPolicy = AddressPolicy(allowLoopback: true, allowPrivateNetworks: true)
        configuration.allowLoopbackHTTP = true
        let client = try CurlHTTPClient(configuration)
        let request = OutboundRequest(method: .get, url: url, timeout: .seconds(3), maximumBodyBytes: 65536)
        let result: Result<Int, Failure>
        do throws(OutboundError) {
            result = .success(try await client.send(request).status)
        } catch {
            result = .failure(Failure(description: "\(text): \(error.reason)"))
        }
        await client.shutdown()
        return try result.get()
    }
}
