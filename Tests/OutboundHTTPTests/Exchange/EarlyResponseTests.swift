import OutboundHTTP
import Primitives
import TestSupport
import Testing

/// What a TLS server sends before it has read the whole request.
struct EarlyResponseTests {
    private func withPeer(
        _ haste: HastyTLSPeer.Haste, _ work: (HastyTLSPeer, OutboundHTTPClient) async throws -> Void
    ) async throws {
        let certificates = try await IssuedCertificates.make([.server])
        let peer = try await HastyTLSPeer(
            haste, certificate: certificates.certificate(.server), key: certificates.key(.server))
        defer { peer.stop() }
        try await withClient {
            $0.caBundle = certificates.authority
        } _: { client in
            try await work(peer, client)
        }
    }

    @Test("A response that comes with the end of the handshake is read at once")
    func withHandshake() async throws {
        try await withPeer(.answersWithHandshake) { peer, client in
            let response = try await client.send(.post(peer.url))
            #expect(response.status == 429)
        }
    }

    @Test("An end that comes with the end of the handshake is noticed at once")
    func endWithHandshake() async throws {
        try await withPeer(.closesWithHandshake) { peer, client in
            let error = await client.failure(try .post(peer.url))
            #expect(error?.code == .closed, "\(error?.reason ?? "answered")")
            #expect(error?.fault == "closed without an answer")
        }
    }

    /// The request is so large that the client is still sending it.
    @Test("A response before a reset is read, although the rest of the request cannot be sent")
    func beforeReset() async throws {
        try await withPeer(.answersThenResets) { peer, client in
            let body = String(repeating: "x", count: 64 << 20)
            let response = try await client.send(.post(peer.url, body: body))
            #expect(response.status == 429)
        }
    }
}
