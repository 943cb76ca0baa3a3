import OutboundHTTP
import Primitives
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

    @Test(
        "A refused address is the reason only if no other address was tried",
        arguments: [
            (["169.254.0.1"], .addressRefused), (["127.0.0.2", "169.254.0.1"], .unreachable),
            (["169.254.0.1", "127.0.0.2"], .unreachable),
        ] as [([String], OutboundError.Code)])
    func alone(_ addresses: [String], _ code: OutboundError.Code) async throws {
        try await withPeer {
            $0.hold()
        } _: { peer in
            // The peer listens on 127.0.0.1 only.
            try await withClient(resolvedBy: Resolver { _ in addresses.compactMap { IPAddress($0) } }) { client in
                let error = await client.failure(try .post("http://localhost:\(peer.port)/"))
                #expect(error?.code == code, "\(error?.reason ?? "answered")")
            }
        }
    }

    @Test("Plain http is refused unless it is allowed, even if the address is")
    func plainHTTP() async throws {
        try await withPeer { connection in
            connection.readRequest()
            connection.answer()
        } _: { peer in
            try await withClient {
                $0.urlPolicy = .httpsOnly
            } _: { client in
                let error = await client.failure(try .post(peer.url()))
                #expect(error?.code == .addressRefused)
                #expect(error?.mayHaveBeenSent == false)
            }
            #expect(peer.connectionCount == 0)
        }
    }
}
