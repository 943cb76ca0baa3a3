import HTTPServer
import HTTPTypes
import Primitives
import Testing

@testable import LatchkeyAPI

/// The port of a client, which only a trusted proxy may name.
@Suite("The port of a client")
struct ClientPortTests {
    static let requests: [(peer: String, field: String?, named: String?, port: UInt16?)] = [
        // Directly: the socket's, whatever the client says.
        ("198.51.100.7", "x-client-port", nil, 4711), ("198.51.100.7", "x-client-port", "80", 4711),
        ("198.51.100.7", nil, "80", 4711),
        // By the proxy: what it writes in the field that is configured.
        ("10.0.0.1", "x-client-port", "80", 80), ("10.0.0.1", "x-client-port", "65535", 65_535),
        ("10.0.0.1", "x-client-port", nil, nil), ("10.0.0.1", nil, "80", nil),
        ("10.0.0.1", "x-client-port", "0", nil), ("10.0.0.1", "x-client-port", "65536", nil),
        ("10.0.0.1", "x-client-port", "+80", nil), ("10.0.0.1", "x-client-port", "80, 81", nil),
        ("10.0.0.1", "x-other-port", "80", nil),
    ]

    @Test("It is the socket's, or the one that a trusted proxy writes in the configured field", arguments: requests)
    func port(_ peer: String, _ field: String?, _ named: String?, _ port: UInt16?) throws {
        var proxies = TrustedProxies(ranges: ["10.0.0.0/8"].compactMap(IPAddressRange.init))
        proxies.portField = field
        var headers: HTTPFields = [:]
        headers[try #require(HTTPField.Name("X-Client-Port"))] = named
        let request = try Request(.get, "/", headers: headers, peer: SocketAddress(host: peer, port: 4711))
        #expect(proxies.clientPort(of: request) == port)
    }
}
