import OpenIDConnect
import Testing

struct TrustedHostsTests {
    private func hosts(_ patterns: String...) throws -> TrustedHosts {
        TrustedHosts(try patterns.map { try #require(TrustedHosts.Pattern($0)) })
    }

    @Test("A pattern covers subdomains of its name only")
    func wildcard() throws {
        let trusted = try hosts("*.att.com")
        for host in ["login.att.com", "a.b.att.com", "x.att.com"] { #expect(trusted.contains(host)) }
        for host in [
            "att.com", ".att.com", "evilatt.com", "att.com.evil.example", "login.att.com.evil.example", "login-att.com",
            "",
        ] {
            #expect(!trusted.contains(host))
        }
    }

    @Test("A host covers itself only")
    func exact() throws {
        let trusted = try hosts("login.example.com", "127.0.0.1", "[::1]", "localhost")
        for host in ["login.example.com", "127.0.0.1", "::1", "localhost"] { #expect(trusted.contains(host)) }
        for host in ["a.login.example.com", "example.com", "127.0.0.2", "::2"] { #expect(!trusted.contains(host)) }
    }

    @Test("Patterns are compared in lower case, as hosts are")
    func letterCase() throws {
        #expect(try hosts("*.ATT.com").contains("login.att.com"))
    }

    @Test("Without patterns no host is trusted")
    func none() {
        #expect(!TrustedHosts([]).contains("login.att.com"))
    }

    @Test(
        "A text that is not a pattern is refused",
        arguments: [
            "", "*", "*.", "*.com", "**.att.com", "*.*.com", "a.*.com", "*att.com", "att.*", "*.att.com.",
            "https://att.com", "att.com/x",
            "att.com:443", "*.127.0.0.1", "*.10", "a b.com", "é.com", "[::1", "*.[::1]",
        ])
    func refused(_ text: String) {
        #expect(TrustedHosts.Pattern(text) == nil)
    }

    @Test("The carriers of ZenKey are trusted by default")
    func carriers() {
        for host in [
            "oidc.att.com", "auth.verizon.com", "brass.account.t-mobile.com", "x.myzenkey.com", "demoapp.xcijv.com",
        ] {
            #expect(TrustedHosts.zenKeyCarriers.contains(host))
        }
        #expect(!TrustedHosts.zenKeyCarriers.contains("att.com.example"))
    }
}
