import LatchkeyConfiguration
import Testing

@Suite("Warnings about a configuration")
struct ConfigurationWarningTests {
    /// With a client that has what it should have, a configuration is without warnings.
    static let client = "zenkey: {clients: [{id: ccid-1, redirect_uris: ['com.example.app://callback']}]}\n"

    @Test("A careful configuration has none")
    func none() throws {
        #expect(try load(Self.client, readableByAll: true).warnings.isEmpty)
    }

    @Test(
        "What takes a defence away is warned of",
        arguments: [
            ("allow_loopback_http: true", "allow_loopback_http", "plain http"),
            ("rate_limits: off", "rate_limits", "are off"),
            ("http: {host: 0.0.0.0}", "http.host", "beyond this machine"),
            ("http: {host: '::'}\npublic_url: http://127.0.0.1:8080", "http.host", "beyond this machine"),
            ("outbound: {allow_private_networks: true}", "outbound.allow_private_networks", "private network"),
            ("database: {synchronous: normal}", "database.synchronous", "loss of power"),
            (
                "registration_rules: {required_attributes: [email]}", "registration_rules.required_attributes",
                "automatic"
            ),
        ])
    func unsafe(text: String, key: String, words: String) throws {
        let warnings = try load(Self.client + text).warnings
        #expect(warnings.map(\.key) == [key])
        #expect(warnings.first?.reason.contains(words) == true)
        #expect(warnings.first?.origin != ConfigurationOrigin.none)
    }

    @Test("Listening everywhere behind an https proxy is no cause for a warning")
    func proxied() throws {
        #expect(try load(Self.client + "http: {host: 0.0.0.0}\npublic_url: https://login.example.com").warnings.isEmpty)
    }

    @Test("Plain API keys in the file, short ones, and a file that everybody can read are warned of")
    func keysInFile() throws {
        let environment = needed.with("LATCHKEY_API_KEYS", nil)
        let warnings = try load(Self.client + "api_keys: [short]", environment: environment, readableByAll: true)
            .warnings
        #expect(warnings.map(\.key) == ["api_keys", "api_keys", "api_keys"])
        #expect(warnings.map(\.origin).allSatisfy { $0 == .file(path: "test.yaml", line: 2) })
        let hashed = "api_keys: ['sha256:\(String(repeating: "0a", count: 32))']"
        #expect(try load(Self.client + hashed, environment: environment).warnings.isEmpty)
    }

    @Test("A secret's file that everybody can read is warned of")
    func secretFile() throws {
        let environment = needed.with("LATCHKEY_API_KEYS", nil).with("LATCHKEY_API_KEYS_FILE", "keys")
        let keys = ["keys": "0123456789abcdef0123456789abcdef"]
        let warnings = try load(Self.client, environment: environment, files: keys, readableByAll: true).warnings
        #expect(warnings.map(\.origin) == [.environment("LATCHKEY_API_KEYS_FILE")])
        #expect(try load(Self.client, environment: environment, files: keys).warnings.isEmpty)
    }

    @Test("Clients without redirect URIs or without PKCE are warned of")
    func clients() throws {
        let text = "zenkey: {clients: [{id: ccid-1, pkce: optional}]}"
        let warnings = try load(text).warnings
        #expect(warnings.map(\.key) == ["zenkey.clients", "zenkey.clients"])
        #expect(warnings.allSatisfy { $0.reason.contains("ccid-1") })
    }

    @Test("A variable that nobody asks for is warned of, with the likely one")
    func unknownVariable() throws {
        let environment = needed.with("LATCHKEY_HTTP_PROT", "80").with("LATCHKEY_XYZZY", "1").with("OTHER", "1")
        #expect(
            try load(Self.client, environment: environment).warnings.map(\.description) == [
                "LATCHKEY_HTTP_PROT: there is no such setting, so it has no effect; did you mean LATCHKEY_HTTP_PORT? "
                    + "[LATCHKEY_HTTP_PROT]",
                "LATCHKEY_XYZZY: there is no such setting, so it has no effect; remove it [LATCHKEY_XYZZY]",
            ])
    }
}
