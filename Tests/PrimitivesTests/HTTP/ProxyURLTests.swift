import Primitives
import Testing

struct ProxyURLTests {
    @Test(
        "A proxy has a host, a port (1080 by default) and optional credentials",
        arguments: [
            ("http://proxy.example", "proxy.example", 1080, nil), ("http://proxy.example/", "proxy.example", 1080, nil),
            ("HTTP://Proxy.example:3128", "proxy.example", 3128, nil), ("http://[::1]", "::1", 1080, nil),
            ("http://[::1]:3128", "::1", 3128, nil),
            // "a:" and "a:b", in base64.
            ("http://a@proxy.example", "proxy.example", 1080, "Basic YTo="),
            ("http://a:b@proxy.example:80/", "proxy.example", 80, "Basic YTpi"),
            // "us%er:p@ss"
            ("http://us%25er:p%40ss@proxy.example", "proxy.example", 1080, "Basic dXMlZXI6cEBzcw=="),
            ("http://a:b@c@proxy.example", "proxy.example", 1080, "Basic YTpiQGM="),
        ] as [(String, String, UInt16, String?)])
    func read(_ text: String, host: String, port: UInt16, authorization: String?) throws {
        let proxy = try ProxyURL(text)
        #expect(proxy.host == host)
        #expect(proxy.port == port)
        #expect(proxy.authorization == authorization)
    }

    @Test(
        "Another text is refused, with the reason",
        arguments: [
            ("https://proxy.example:3128", .scheme), ("socks5://proxy.example", .scheme),
            ("proxy.example:3128", .scheme),
            ("", .scheme), ("http://" + String(repeating: "a", count: 1024), .scheme),
            ("http://proxy.example/path", .extra), ("http://proxy.example?x", .extra),
            ("http://proxy.example#x", .extra),
            ("http://pro xy.example", .extra), ("http://proxy.example\n", .extra), ("http://prøxy.example", .extra),
            ("http://", .server), ("http://proxy.example:0", .server), ("http://proxy.example:65536", .server),
            ("http://us%er@proxy.example", .user), ("http://a:%zz@proxy.example", .user),
            ("http://%ff@proxy.example", .user),
        ] as [(String, ProxyURL.Fault)])
    func refused(_ text: String, fault: ProxyURL.Fault) {
        #expect(throws: fault) { try ProxyURL(text) }
    }
}
