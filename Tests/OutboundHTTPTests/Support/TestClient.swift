import OutboundHTTP
import Primitives
import TestSupport
import Testing

extension OutboundHTTPConfiguration {
    /// Allows plain http to loopback.
    static var loopback: OutboundHTTPConfiguration {
        var configuration = OutboundHTTPConfiguration()
        configuration.addressPolicy = AddressPolicy(allowLoopback: true)
        configuration.urlPolicy = .allowLoopbackHTTP
        return configuration
    }
}

/// A client that may speak plain http to loopback, shut down when the work is done.
func withClient<Result>(
    resolvedBy resolver: Resolver = Resolver(), _ change: (inout OutboundHTTPConfiguration) -> Void = { _ in },
    _ work: (OutboundHTTPClient) async throws -> Result
) async throws -> Result {
    var configuration = OutboundHTTPConfiguration.loopback
    change(&configuration)
    let client = try OutboundHTTPClient(configuration, resolver: resolver)
    do {
        let result = try await work(client)
        await client.shutdown()
        return result
    } catch {
        await client.shutdown()
        throw error
    }
}

/// A peer, stopped when the work is done.
func withPeer<Result>(
    _ script: @escaping @Sendable (RawHTTPPeer.Connection) -> Void, _ work: (RawHTTPPeer) async throws -> Result
) async throws -> Result {
    let peer = try RawHTTPPeer(script)
    defer { peer.stop() }
    return try await work(peer)
}

extension OutboundRequest {
    /// A request whose query, header and body hold the word that no error may repeat.
    static func post(
        _ url: String, body: String = "code=s3cret", timeout: Duration = .seconds(60), maximumBodyBytes: Int = 64 * 1024
    ) throws -> OutboundRequest {
        OutboundRequest(
            method: .post, url: try endpoint(url), headers: [("X-Token", "s3cret")], body: Array(body.utf8),
            timeout: timeout, maximumBodyBytes: maximumBodyBytes)
    }

    static func get(
        _ url: String, timeout: Duration = .seconds(60), maximumBodyBytes: Int = 64 * 1024
    ) throws -> OutboundRequest {
        OutboundRequest(method: .get, url: try endpoint(url), timeout: timeout, maximumBodyBytes: maximumBodyBytes)
    }

    private static func endpoint(_ url: String) throws -> EndpointURL {
        try #require(EndpointURL(url, policy: .allowLoopbackHTTP))
    }
}

extension OutboundHTTPClient {
    /// Expects a response of status 200, with this body if one is given.
    func expect(_ request: OutboundRequest, _ body: [UInt8]? = nil) async throws {
        let response = try await send(request)
        #expect(response.status == 200)
        #expect(body == nil || response.body == body)
    }

    /// The error a request ends with, or nil if it is answered.
    func failure(_ request: OutboundRequest) async -> OutboundError? {
        do throws(OutboundError) {
            _ = try await send(request)
            return nil
        } catch {
            return error
        }
    }
}
