import HTTPServer
import Testing

@Suite("Socket address")
struct SocketAddressTests {
    @Test("An IPv6 address is shown in brackets", arguments: [("127.0.0.1", "127.0.0.1:80"), ("::1", "[::1]:80")])
    func description(_ host: String, _ expected: String) {
        #expect(SocketAddress(host: host, port: 80).description == expected)
    }
}
