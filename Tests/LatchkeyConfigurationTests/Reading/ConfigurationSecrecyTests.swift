import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Testing

@Suite("Secrets of a configuration")
struct ConfigurationSecrecyTests {
    /// Every printed form of a value.
    private func printed(_ value: Any) -> String {
        var dumped = ""
        dump(value, to: &dumped)
        return String(describing: value) + String(reflecting: value) + dumped
    }

    @Test("No printed form of a configuration or its warnings shows a secret")
    func configuration() throws {
        let text = """
            api_keys: [HIDDEN-api-key-0123456789abcdef]
            outbound: {proxy: 'http://user:HIDDEN@proxy.example.com:3128'}
            telemetry: {otlp_headers: 'api-key=HIDDEN'}
            database:
              url: postgres://user:HIDDEN@db.example.com/latchkey?password=HIDDEN&sslmode=prefer
              pooler_url: postgres://user:HIDDEN@pooler.example.com/latchkey?password=HIDDEN&sslmode=prefer
            zenkey: {clients: [{id: one, secret: HIDDEN-one}, {id: two, secret_file: f}]}
            """
        let environment = needed.with("LATCHKEY_API_KEYS", nil).with("LATCHKEY_ZENKEY_CLIENTS", nil)
        let loaded = try load(text, environment: environment, files: ["f": "HIDDEN-two"], readableByAll: true)
        #expect(
            loaded.configuration.zenkey.clients.map(\.authentication)
                == [.clientSecretBasic(Secret("HIDDEN-one")), .clientSecretBasic(Secret("HIDDEN-two"))])
        #expect(!loaded.warnings.isEmpty)
        #expect(!printed(loaded).contains("HIDDEN"))
        let values = ConfigurationReference.values(of: loaded.configuration)
        #expect(!printed(values).contains("HIDDEN"))
        #expect(
            values.first { $0.key == "database.url" }?.value
                == "postgres://user@db.example.com/latchkey?sslmode=prefer")
        #expect(values.first { $0.key == "zenkey.clients" }?.value == "one:‹redacted›,two:‹redacted›")
    }

    @Test(
        "No problem repeats a secret, however it is misplaced",
        arguments: [
            "api_keys: [\"HIDDEN key\", \"sha256:HIDDEN\"]",
            "api_keys: {HIDDEN: HIDDEN}",
            "api_keys: {HIDDEN: 1, HIDDEN: 2}",
            "api_keys: [[HIDDEN], {HIDDEN: HIDDEN}]",
            "api_keys: [{name: a, key: HIDDEN key}]", "api_keys: [{key: [HIDDEN]}]", "api_keys: [{HIDDEN: a, key: b}]",
            "api_keys: [{name: HIDDEN HIDDEN, key: b}]",
            "api_keys: [HIDDEN",
            "api_keys: \"HIDDEN\u{7}\"",
            "api_keys: *HIDDEN",
            "api_keys: &HIDDEN [a]",
            "api_keys: !HIDDEN a",
            "api_keys_file: [HIDDEN]",
            "HIDDEN",
            "- HIDDEN",
            "zenkey: {clients: {one: HIDDEN}}",
            "zenkey: {clients: 'one:HIDDEN\u{E9}'}",
            "zenkey: {clients: [{id: one, secret: \"HIDDEN\\tsecret\"}]}",
            "zenkey: {clients: [{id: one, secret: [HIDDEN]}]}",
            "zenkey: {clients: [HIDDEN]}",
            "zenkey: {clients: [{id: one, private_key: HIDDEN}]}",
            "zenkey: {clients: [{id: one, private_key: '{\"kty\":\"RSA\",\"d\":\"HIDDEN\"}'}]}",
            "outbound: {proxy: 'ftp://user:HIDDEN@proxy'}",
            "outbound: {proxy: 'http://user:HIDDEN@proxy:99999999'}",
            "telemetry: {otlp_headers: 'api-key HIDDEN'}", "telemetry: {otlp_headers: 'host=HIDDEN'}",
            "telemetry: {otlp_headers: 'api-key=HIDDEN%'}",
            "webhooks: [{url: 'https://crm.example', secret: HIDDEN}]",
            "webhooks: [{url: 'https://crm.example', secret: [whsec_HIDDEN, [HIDDEN]]}]", "webhooks: [HIDDEN]",
            "database: {url: 'postgres://user:HIDDEN@db@/latchkey'}",
            "database: {url: 'postgres://user:HIDDEN /latchkey'}",
            "database: {url: 'postgres://user:HIDDEN?x=1@db/latchkey'}",
            "database: {url: 'postgres://db/latchkey?password=HIDDEN&x'}",
            "database: {url: 'HIDDEN'}",
            "public_url: https://user:HIDDEN@login.example.com",
            "zenkey: {discovery_url: 'https://user:HIDDEN@discovery.example.com'}",
            "http: {port: 'HIDDEN-and-longer-than-any-word'}",
        ])
    func problemsOfFile(text: String) throws {
        let environment = needed.with("LATCHKEY_API_KEYS", nil).with("LATCHKEY_ZENKEY_CLIENTS", nil)
        let error = try #require(throws: ConfigurationErrors.self) { try load(text, environment: environment) }
        #expect(!printed(error).contains("HIDDEN"), "\(error)")
    }

    @Test(
        "A database URL with a misplaced password is refused",
        arguments: [
            "postgres://user:HIDDEN@db@/latchkey", "postgres://user:HIDDEN@more@db/latchkey",
            "postgres://user:HIDDEN?x=1@db/latchkey", "postgres://user:HIDDEN/more@db",
            "postgres://user:HIDDEN/more@db/latchkey", "postgres://user:HIDDEN#more@db/latchkey",
        ])
    func misplacedPassword(url: String) {
        #expect(PostgresURL(Secret(url)) == nil)
    }

    @Test(
        "No problem repeats a secret from the environment",
        arguments: [
            ("LATCHKEY_API_KEYS", "HIDDEN key"), ("LATCHKEY_API_KEYS", "sha256:HIDDEN"),
            ("LATCHKEY_ZENKEY_CLIENTS", "HIDDEN"), ("LATCHKEY_ZENKEY_CLIENTS", "one:HIDDEN,two:HIDDEN\u{E9}"),
            ("LATCHKEY_ZENKEY_CLIENTS", #"[{"id": "one", "secret": "HIDDEN""#),
            ("LATCHKEY_ZENKEY_CLIENTS", #"[{"id": "one", "HIDDEN": "s", "HIDDEN": "s"}]"#),
            ("LATCHKEY_API_KEYS", "[HIDDEN, {key: HIDDEN"),
            ("LATCHKEY_OUTBOUND_PROXY", "HIDDEN"), ("LATCHKEY_DATABASE_URL", "postgres://user:HIDDEN@db@"),
        ])
    func problemsOfEnvironment(name: String, value: String) throws {
        let environment = needed.with(name, value).with("LATCHKEY_UNKNOWN", "HIDDEN")
        let error = try #require(throws: ConfigurationErrors.self) { try load(environment: environment) }
        #expect(!printed(error).contains("HIDDEN"), "\(error)")
    }
}
