import OpenIDConnect
import OutboundHTTP
import TestSupport
import Testing

struct AddressRefusalTests {
    @Test(
        "Addresses inside are refused before a connection, however the host is spelled",
        arguments: [
            "https://127.0.0.1", "https://localhost", "https://[::1]", "https://[::ffff:7f00:1]",
            "https://10.0.0.1", "https://192.168.0.1", "https://172.16.0.1", "https://169.254.169.254",
            "https://100.64.0.1", "https://0.0.0.0", "https://[fe80::1]", "https://[fd00::1]",
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

    @Test("Leave for loopback is no leave for private networks, and none for link-local addresses")
    func loopbackOnly() async throws {
        try await withClient { client in
            for host in ["10.0.0.1", "169.254.169.254"] {
                let error = await client.failure(try .post("https://\(host)/"))
                #expect(error?.code == .addressRefused)
            }
        }
    }

    @Test("Plain http is refused where it was not allowed, though the address is")
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
