import OpenIDConnect
import OutboundHTTP
import TestSupport
import Testing

/// That the policy is asked before a connection. Only loopback addresses are tried, so that nothing leaves this machine
/// even where the defence is missing; what the policy says of all others is in ``AddressPolicyTests``.
struct AddressRefusalTests {
    @Test(
        "Addresses inside are refused before a connection, however the host is spelled",
        arguments: [
            "https://127.0.0.1", "https://localhost", "https://[::1]", "https://[::ffff:7f00:1]",
        ])
    func refused(_ host: String) async throws {
        try await withPeer {
            $0.hold()
        } _: { peer in
            try await withClient {
                $0.addressPolicy = .publicOnly
            } _: { client in
                let error = await client.failure(try .post("\(host):\(peer.port)/"))
                #expect(error?.code == .addressRefused, "\(error?.reason ?? "answered")")
                #expect(error?.mayHaveBeenSent == false)
            }
            #expect(peer.connectionCount == 0)
        }
    }

    @Test("Plain http is refused unless it is allowed, even if the address is")
    func plainHTTP() async throws {
        try await withPeer { connection in
            connection.readRequest()
            connection.answer()
        } _: { peer in
            try await withClient {
                $0.allowLoopbackHTTP = false
            } _: { client in
                let error = await client.failure(try .post(peer.url()))
                #expect(error?.code == .addressRefused)
                #expect(error?.mayHaveBeenSent == false)
            }
            #expect(peer.connectionCount == 0)
        }
    }
}
