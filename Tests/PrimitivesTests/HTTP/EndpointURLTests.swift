import Primitives
import Testing

struct EndpointURLTests {
    @Test(
        "An absolute https URL is split into its parts",
        arguments: [
            ("https://login.example.com", "login.example.com", 443),
            ("https://login.example.com/token?x=1&y=%20", "login.example.com", 443),
            ("HTTPS://Login.Example.COM/", "login.example.com", 443),
            ("https://login.example.com:8443/a", "login.example.com", 8443),
            ("https://login.example.com?x=1", "login.example.com", 443),
            ("https://xn--bcher-kva.example", "xn--bcher-kva.example", 443),
            ("https://192.0.2.7:1/", "192.0.2.7", 1), ("https://[2001:DB8::7]:65535/", "2001:db8::7", 65535),
            ("https://[::1]/", "::1", 443), ("https://[0:0:0:0:0:0:0:1]", "::1", 443),
            ("https://localhost/", "localhost", 443),
            ("https://a-b.c1/", "a-b.c1", 443),
        ] as [(String, String, UInt16)])
    func https(_ text: String, _ host: String, _ port: UInt16) throws {
        let url = try #require(EndpointURL(text, policy: .httpsOnly))
        #expect(url.text == text)
        #expect(url.scheme == .https)
        #expect(url.host == host)
        #expect(url.port == port)
    }

    @Test(
        "Plain http to loopback is allowed by the policy for it",
        arguments: [
            "http://127.0.0.1:8080/x", "http://127.255.0.9/", "http://localhost", "http://[::1]:9/",
            "http://LOCALHOST:80/",
        ])
    func loopback(_ text: String) {
        #expect(EndpointURL(text, policy: .allowLoopbackHTTP)?.scheme == .http)
        #expect(EndpointURL(text, policy: .allowLoopbackHTTP)?.isLoopback == true)
        #expect(EndpointURL(text, policy: .httpsOnly) == nil)
    }

    @Test(
        "Plain http to anywhere else is refused",
        arguments: [
            "http://login.example.com/", "http://128.0.0.1/", "http://10.0.0.1/", "http://localhost.example.com/",
            "http://127.0.0.1.example.com/", "http://169.254.169.254/", "http://[::2]/", "http://[::ffff:7f00:1]/",
            "http://0.0.0.0/",
        ])
    func plain(_ text: String) {
        #expect(EndpointURL(text, policy: .allowLoopbackHTTP) == nil)
    }

    @Test(
        "A text that is not an absolute URL of an allowed form is refused",
        arguments: [
            "", "/token", "token", "//login.example.com/", "https:", "https:/", "https://", "https:///x",
            "https:login.example.com",
            "ftp://login.example.com/", "file:///etc/passwd", "gopher://login.example.com/", "javascript:alert(1)",
            "httpsx://a.example/",
            "https ://a.example/", "https://a.example/#f", "https://a.example#", "https://user@a.example/",
            "https://u:p@a.example/",
            "https://a.example@b.example/", "https://@a.example/", "https://a.example/ b", " https://a.example/",
            "https://a.example/\n",
            "https://a.example/\t", "https://a.example/\0", "https://a.example/\u{7F}", "https://a.example/é",
            "https://é.example/",
            "https://a.example\\@b.example/", "https://a.example/<x>", "https://a.example/\"", "https://a.example/{x}",
            "https://a.example/^",
            "https://a.example/%", "https://a.example/%2", "https://a.example/%zz", "https://a.example:/",
            "https://a.example:0/",
            "https://a.example:65536/", "https://a.example:99999999999/", "https://a.example:8a/",
            "https://a.example:+80/",
            "https://a.example:80:80/", "https://a..example/", "https://.a.example/", "https://a.example./",
            "https://-a.example/",
            "https://a-.example/", "https://a_b.example/", "https://a%2eexample/", "https://[::1", "https://::1/",
            "https://[::1]x/",
            "https://[::1%25eth0]/", "https://[]/", "https://[:]/", "https://[:::]/", "https://[1::2::3]/",
            "https://[12345::]/",
            "https://[1:2:3:4:5:6:7]/", "https://[1:2:3:4:5:6:7:8:9]/", "https://[::ffff:127.0.0.1]/",
            "https://[+1::]/",
            "https://256.0.0.1/", "https://1.2.3/", "https://1.2.3.4.5/", "https://01.2.3.4/", "https://2130706433/",
            "https://0x7f000001/",
            "https://127.0.0.0x1/", "https://127.1/",
        ])
    func refused(_ text: String) {
        #expect(EndpointURL(text, policy: .allowLoopbackHTTP) == nil)
    }

    @Test("Length is limited, of the whole and of a label and a name")
    func length() {
        let base = "https://a.example/"
        #expect(EndpointURL(base + String(repeating: "x", count: 2048 - base.count), policy: .httpsOnly) != nil)
        #expect(EndpointURL(base + String(repeating: "x", count: 2049 - base.count), policy: .httpsOnly) == nil)
        #expect(EndpointURL("https://" + String(repeating: "a", count: 63) + ".example", policy: .httpsOnly) != nil)
        #expect(EndpointURL("https://" + String(repeating: "a", count: 64) + ".example", policy: .httpsOnly) == nil)
        let long = [String](repeating: String(repeating: "a", count: 49), count: 6).joined(separator: ".")
        #expect(EndpointURL("https://" + long, policy: .httpsOnly) == nil)
    }

    @Test(
        "Query items are added, encoded",
        arguments: [
            ("https://a.example/d", "https://a.example/d?id=a%20b&x=%26%3D%2B%23%C3%A9"),
            ("https://a.example/d?", "https://a.example/d?id=a%20b&x=%26%3D%2B%23%C3%A9"),
            ("https://a.example/d?k=v", "https://a.example/d?k=v&id=a%20b&x=%26%3D%2B%23%C3%A9"),
            ("https://a.example/d?k=v&", "https://a.example/d?k=v&id=a%20b&x=%26%3D%2B%23%C3%A9"),
            ("https://a.example", "https://a.example?id=a%20b&x=%26%3D%2B%23%C3%A9"),
        ])
    func query(_ text: String, _ result: String) throws {
        let url = try #require(EndpointURL(text, policy: .httpsOnly))
        let extended = url.appending(query: [("id", "a b"), ("x", "&=+#é")])
        #expect(extended.text == result)
        #expect(extended.host == url.host)
        #expect(url.appending(query: []) == url)
    }

    @Test(
        "The authority has the port only if it is not the usual one",
        arguments: [
            ("https://A.example/d", "a.example"), ("https://a.example:443/d", "a.example"),
            ("https://a.example:8443", "a.example:8443"), ("http://127.0.0.1:80/x", "127.0.0.1"),
            ("http://127.0.0.1:443/x", "127.0.0.1:443"), ("https://[::1]:8443/x", "[::1]:8443"),
            ("https://[::1]/x", "[::1]"),
        ])
    func authority(_ text: String, _ authority: String) throws {
        #expect(try #require(EndpointURL(text, policy: .allowLoopbackHTTP)).authority == authority)
    }
}
