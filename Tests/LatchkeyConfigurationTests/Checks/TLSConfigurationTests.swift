import HTTPServer
import LatchkeyConfiguration
import TestSupport
import Testing

@Suite("The configuration of TLS")
struct TLSConfigurationTests {
    private static let files = [
        "chain": TLSTexts.chain, "key": TLSTexts.key, "other": TLSTexts.otherKey, "expired": TLSTexts.expired,
        "future": TLSTexts.future, "encrypted": TLSTexts.encryptedKey, "ca": TLSTexts.authority, "empty": "",
    ]

    private static let pair = "certificate_file: chain, private_key_file: key"

    private func lines(_ text: String) -> [String] { problems("tls: {\(text)}", files: Self.files) }

    @Test("A matching certificate and key are accepted, with all other settings")
    func good() throws {
        let text = """
            public_url: https://login.example.com
            tls: {\(Self.pair), host: ['::1', 127.0.0.1], port: 443, redirect_port: 80, client_ca_file: ca, \
            client_certificates: required, handshake_timeout: 5s, max_handshakes: 50}
            """
        let loaded = try load(ConfigurationWarningTests.client + text, files: Self.files)
        let (tls, http) = (loaded.configuration.tls, loaded.configuration.http)
        #expect(tls.isOn && tls.hosts == ["::1", "127.0.0.1"] && tls.port == 443 && tls.redirectPort == 80)
        #expect(tls.clients == .required && http.timeouts.handshake == .seconds(5) && http.limits.handshakes == 50)
        #expect(loaded.warnings.isEmpty, "\(loaded.warnings)")
        #expect(try !load().configuration.tls.isOn)
    }

    @Test("Environment variables can name the files, too")
    func environment() throws {
        let environment = needed.with("LATCHKEY_TLS_CERTIFICATE_FILE", "chain")
            .with("LATCHKEY_TLS_PRIVATE_KEY_FILE", "key")
        #expect(try load(environment: environment, files: Self.files).configuration.tls.isOn)
    }

    @Test(
        "Unusable files and settings are refused under their key",
        arguments: [
            ("certificate_file: missing, private_key_file: key", "tls.certificate_file: the file does not exist"),
            ("certificate_file: chain, private_key_file: missing", "tls.private_key_file: the file does not exist"),
            (
                "certificate_file: empty, private_key_file: key",
                "tls.certificate_file: the file has no certificate in PEM"
            ),
            (
                "certificate_file: key, private_key_file: key",
                "tls.certificate_file: the file has no certificate in PEM"
            ),
            ("certificate_file: chain, private_key_file: chain", "tls.private_key_file: the file has no private key"),
            (
                "certificate_file: chain, private_key_file: other",
                "tls.private_key_file: the file has a private key that does not belong"
            ),
            (
                "certificate_file: chain, private_key_file: encrypted",
                "tls.private_key_file: the file has a private key that needs a passphrase"
            ),
            ("certificate_file: chain", "tls.private_key_file: is missing"),
            ("private_key_file: key", "tls.certificate_file: is missing"),
            ("\(pair), client_certificates: optional", "tls.client_ca_file: is missing"),
            (
                "\(pair), client_certificates: required, client_ca_file: empty",
                "tls.client_ca_file: the file has no authority's certificate"
            ),
            ("\(pair), redirect_port: 80", "tls.redirect_port: public_url is not https"),
            ("client_certificates: some", "tls.client_certificates: some is not one"),
        ])
    func refused(_ text: String, _ problem: String) {
        let found = lines(text)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(problem) == true, "\(found)")
    }

    @Test("A redirect port requires HTTPS and an https public_url")
    func redirectWithoutTLS() {
        #expect(lines("redirect_port: 80").map { $0.prefix(17) } == ["tls.redirect_port", "tls.redirect_port"])
    }

    @Test(
        "A certificate that clients refuse, or a setting without effect, causes a warning",
        arguments: [
            (
                "certificate_file: expired, private_key_file: key", "tls.certificate_file",
                "expired on 2021-01-01T00:00:00Z"
            ),
            ("certificate_file: future, private_key_file: key", "tls.certificate_file", "before 2110-01-01T00:00:00Z"),
            ("\(pair), client_ca_file: ca", "tls.client_ca_file", "no effect"),
            ("port: 444", "tls.port", "no effect"),
        ])
    func warned(_ text: String, _ key: String, _ words: String) throws {
        let text = ConfigurationWarningTests.client + "public_url: https://login.example.com\ntls: {\(text)}"
        // Without HTTPS here, the proxy in front causes another warning.
        let warnings = try load(text, files: Self.files).warnings.filter { $0.key != "http.trusted_proxies" }
        #expect(warnings.map(\.key) == [key])
        #expect(warnings.first?.reason.contains(words) == true, "\(warnings)")
    }

    @Test(
        "HTTPS without an https public_url causes a warning", arguments: ["", "public_url: http://127.0.0.1:8080\n"])
    func publicURL(_ line: String) throws {
        let text = ConfigurationWarningTests.client + line + "tls: {\(Self.pair)}"
        let warnings = try load(text, files: Self.files).warnings
        #expect(warnings.map(\.key) == ["public_url"])
    }

    @Test("A world-readable private key causes a warning")
    func readableByAll() throws {
        let text = ConfigurationWarningTests.client + "public_url: https://login.example.com\ntls: {\(Self.pair)}"
        let warnings = try load(text, files: Self.files, readableByAll: true).warnings
        #expect(warnings.map(\.key) == ["tls.private_key_file"])
    }

    @Test("An operator's command does not read the certificate and the key")
    func operation() {
        #expect(problems("tls: {certificate_file: missing, private_key_file: x}", purpose: .operation) == [])
    }
}
