import HTTPServer
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import Testing

@Suite("Loading a configuration")
struct ConfigurationLoaderTests {
    @Test("Without a file, the defaults and the environment are enough")
    func defaults() throws {
        let loaded = try ConfigurationLoader(settings, files: files([:])).load(file: nil, environment: needed)
        let configuration = loaded.configuration
        #expect(configuration.http.hosts == ["127.0.0.1"])
        #expect(configuration.http.port == 8080)
        #expect(configuration.database.url.path == "latchkey.db")
        #expect(configuration.registration.mode == .automatic)
        #expect(configuration.sessions.refresh == 2_592_000)
        #expect(configuration.log.level == .info)
        #expect(configuration.zenkey.trustedHosts.contains("oidc.att.com"))
        #expect(configuration.zenkey.clients.map(\.id.text) == ["ccid-1"])
    }

    @Test(
        "What a build leaves out is refused, also from the environment",
        arguments: [
            ("LATCHKEY_REGISTRATION", "required", "needs the feature Registration"),
            ("LATCHKEY_DATABASE_URL", "postgres://me:s3cret@db.example/latchkey", "needs the feature PostgreSQL"),
            ("LATCHKEY_CONSOLE", "on", "needs the feature Redirects"),
        ])
    func leftOut(row: (variable: String, value: String, problem: String)) {
        let environment = needed.with(row.variable, row.value)
        #expect(problems(environment: environment) == [])
        let found = problems(environment: environment, of: FeatureList.none.settings)
        #expect(found.count == 1 && found[0].contains(row.problem) && !found[0].contains("s3cret"), "\(found)")
    }

    @Test("The default file is read if it exists")
    func defaultFile() throws {
        let reader = files([ConfigurationLoader.defaultFile: "http: {port: 81}"])
        let loaded = try ConfigurationLoader(settings, files: reader).load(file: nil, environment: needed)
        #expect(loaded.configuration.http.port == 81)
        #expect(loaded.origins["http.port"] == .file(path: "Config/latchkey.yaml", line: 1))
    }

    @Test("A named file must exist")
    func namedFile() throws {
        let loader = ConfigurationLoader(settings, files: files([:]))
        let error = try #require(throws: ConfigurationErrors.self) {
            try loader.load(file: "other.yaml", environment: [:])
        }
        #expect(error.problems.count == 1)
        #expect(
            error.description
                == "configuration file: does not exist; name a readable file of at most 1 MiB with --config "
                + "[other.yaml]"
        )
    }

    @Test("The environment overrides the file")
    func environmentWins() throws {
        let text = "http: {port: 81, host: '::1'}\nlog: {level: error}"
        let loaded = try load(text, environment: needed.with("LATCHKEY_HTTP_PORT", "82").with("LATCHKEY_LOG_LEVEL", ""))
        #expect(loaded.configuration.http.port == 82)
        #expect(loaded.configuration.http.hosts == ["::1"])
        #expect(loaded.configuration.log.level == .error, "an empty variable says nothing")
        #expect(loaded.origins["http.port"] == .environment("LATCHKEY_HTTP_PORT"))
    }

    @Test("Every key has a variable, except those of a client, an API key or a provider")
    func environmentNames() {
        for key in ConfigurationReference.keys(of: settings) {
            guard let name = key.environmentName else {
                let lists = ["zenkey.clients[].", "api_keys[].", "providers[]."]
                #expect(lists.contains { key.name.hasPrefix($0) }, "\(key.name)")
                continue
            }
            // The switch of a group has the group's variable.
            let words = key.name.uppercased().split(separator: ".").filter { $0 != "ENABLED" }
            #expect(name == "LATCHKEY_" + words.joined(separator: "_"))
            // A list of two line breaks is invalid for every type.
            let found = problems(environment: needed.with(name, "\n,\n"))
            #expect(found.contains { $0.hasPrefix(key.name) && $0.hasSuffix("[\(name)]") }, "\(name): \(found)")
        }
    }

    @Test("A JSON file is read, too")
    func json() throws {
        let text = """
            {
            \t"http": {"port": 81, "limits": {"max_body_bytes": "32KiB"}},
            \t"zenkey": {"trusted_issuers": ["*.example.com", "127.0.0.1"],
            \t           "issuers": {"001010": "https://a.example.com"}}
            }
            """
        let configuration = try load(text).configuration
        #expect(configuration.http.port == 81)
        #expect(configuration.http.limits.bodyBytes == 32 << 10)
        #expect(configuration.zenkey.trustedIssuers == ["*.example.com", "127.0.0.1"])
        #expect(configuration.zenkey.issuers[try #require(MCCMNC("001010"))]?.text == "https://a.example.com")
    }

    @Test("A client's settings in the file apply when its secret comes from the environment")
    func clientsOfBoth() throws {
        let text = """
            zenkey:
              clients:
                - id: ccid-1
                  redirect_uris: [com.example.app://callback]
                  nonce: issued
                - {id: ccid-2, secret: file-secret}
            """
        let clients = try load(text).configuration.zenkey.clients
        #expect(clients.map(\.id.text) == ["ccid-1"])
        #expect(clients.first?.authentication == .clientSecretBasic(Secret("environment-secret")))
        #expect(clients.first?.redirectURIs == ["com.example.app://callback"])
        #expect(clients.first?.nonce == .issued)
        #expect(clients.first?.pkce == .required)
    }

    @Test("A client secret may contain colons")
    func colons() throws {
        let environment = needed.with("LATCHKEY_ZENKEY_CLIENTS", "one:a:b::c, two:d")
        let clients = try load(environment: environment).configuration.zenkey.clients
        #expect(
            clients.map(\.authentication)
                == [.clientSecretBasic(Secret("a:b::c")), .clientSecretBasic(Secret("d"))])
    }

    @Test(
        "A variable, and the file that one names, may hold a list in JSON or YAML",
        arguments: [
            #"[{"id": "one", "secret": "a,b", "redirect_uris": ["com.example.app://callback"]}]"#,
            "\n - id: one\n   secret: 'a,b'\n   redirect_uris: ['com.example.app://callback']\n",
        ])
    func structuredText(_ text: String) throws {
        let environment = needed.with("LATCHKEY_ZENKEY_CLIENTS", nil)
        for (environment, files) in [
            (environment.with("LATCHKEY_ZENKEY_CLIENTS", text), [:]),
            (environment.with("LATCHKEY_ZENKEY_CLIENTS_FILE", "clients"), ["clients": text]),
        ] {
            let clients = try load(environment: environment, files: files).configuration.zenkey.clients
            #expect(clients.map(\.id.text) == ["one"])
            #expect(clients.first?.authentication == .clientSecretBasic(Secret("a,b")))
            #expect(clients.first?.redirectURIs == ["com.example.app://callback"])
        }
    }

    @Test("Other lists and groups may be JSON in a variable")
    func structuredLists() throws {
        let environment =
            needed
            .with("LATCHKEY_API_KEYS", #"[{"name": "app", "key": "a-key-of-the-app-0123"}]"#)
            .with("LATCHKEY_ALLOWED_ORIGINS", #"["https://a.example", "https://b.example"]"#)
            .with("LATCHKEY_ZENKEY_ISSUERS", #"{"310410": "https://carrier.myzenkey.com"}"#)
        let configuration = try load(environment: environment).configuration
        #expect(configuration.apiKeys.map(\.name) == ["app"])
        #expect(configuration.allowedOrigins.map(\.text) == ["https://a.example", "https://b.example"])
        #expect(configuration.zenkey.issuers.map(\.key.text) == ["310410"])
    }

    @Test("A secret file's last line break is not part of the secret")
    func secretFiles() throws {
        let text = "zenkey: {clients: [{id: ccid-1, secret_file: one}]}\napi_keys_file: keys"
        let environment = needed.with("LATCHKEY_ZENKEY_CLIENTS", nil).with("LATCHKEY_API_KEYS", nil)
            .with("LATCHKEY_OUTBOUND_PROXY_FILE", "proxy")
        let contents = [
            "one": " spaces stay \r\n", "keys": "first-key-of-the-app\nsecond-key-of-the-app\n",
            "proxy": "http://user:password@proxy.example.com:3128",
        ]
        let configuration = try load(text, environment: environment, files: contents).configuration
        #expect(configuration.zenkey.clients.map(\.authentication) == [.clientSecretBasic(Secret(" spaces stay "))])
        #expect(
            configuration.apiKeys == [
                .plain(Secret("first-key-of-the-app")), .plain(Secret("second-key-of-the-app")),
            ])
        #expect(configuration.outbound.proxy?.exposed == "http://user:password@proxy.example.com:3128")
    }

    @Test("A variable overrides a secret in the file")
    func variableOverSecretFile() throws {
        let configuration = try load("api_keys: [key-in-the-file-0123]", environment: needed).configuration
        #expect(configuration.apiKeys == [APIKey(.sha256([UInt8](repeating: 0x0F, count: 32)))])
    }

    @Test("The demonstration needs neither API keys nor clients")
    func demo() throws {
        let loaded = try load("http: {port: 0}", environment: ["LATCHKEY_ALLOW_LOOPBACK_HTTP": "true"], purpose: .demo)
        #expect(loaded.configuration.http.port == 0)
        #expect(loaded.warnings.isEmpty)
    }

    @Test(
        "Values are accepted in their common forms",
        arguments: [
            ("sessions: {access_lifetime: 90}", "sessions.access_lifetime", "90s"),
            ("sessions: {access_lifetime: 90s}", "sessions.access_lifetime", "90s"),
            ("sessions: {access_lifetime: 10m}", "sessions.access_lifetime", "10m"),
            ("sessions: {access_lifetime: 1h}", "sessions.access_lifetime", "1h"),
            ("sessions: {refresh_lifetime: 7d}", "sessions.refresh_lifetime", "7d"),
            ("http: {limits: {max_body_bytes: 50000}}", "http.limits.max_body_bytes", "50000"),
            ("http: {limits: {max_body_bytes: 48KiB}}", "http.limits.max_body_bytes", "48KiB"),
            ("http: {host: [127.0.0.1, '::1']}", "http.host", "127.0.0.1,::1"),
            ("http: {host: '[::1]'}", "http.host", "::1"),
            ("rate_limits: {enabled: off}", "rate_limits.enabled", "off"),
            ("rate_limits: {enabled: false}", "rate_limits.enabled", "off"),
            ("registration: required", "registration", "required"),
            ("database: {url: 'sqlite:////var/lib/latchkey/a.db'}", "database.url", "sqlite:////var/lib/latchkey/a.db"),
            ("database: {url: 'sqlite:///data/a.db'}", "database.url", "sqlite:///data/a.db"),
            ("database: {url: 'postgres://db/latchkey'}", "database.url", "postgres://db/latchkey"),
            (
                "database: {url: 'postgresql://me:secret@db:5433/latchkey?sslmode=require&options=x'}", "database.url",
                "postgres://me@db:5433/latchkey?sslmode=require"
            ),
            ("database: {url_file: url.txt}", "database.url", "postgres://me@db/latchkey"),
            ("database: {pool_size: 256}", "database.pool_size", "256"),
            ("database: {statement_timeout: 1m}", "database.statement_timeout", "1m"),
            ("allowed_origins: ['https://App.Example.com:443']", "allowed_origins", "https://app.example.com"),
            ("log: {level: verbose, format: json}", "log.format", "json"),
            ("zenkey: {trusted_issuers: ['*.Example.com']}", "zenkey.trusted_issuers", "*.example.com"),
        ])
    func forms(text: String, key: String, value: String) throws {
        let files = ["url.txt": "postgres://me:secret@db/latchkey\n"]
        let values = ConfigurationReference.values(of: try load(text, files: files).configuration)
        #expect(values.first { $0.key == key }?.value == value)
    }

    @Test("Every log level is read by its name, and only off disables logging", arguments: LogLevel.allCases)
    func logLevels(level: LogLevel) throws {
        #expect(try load("log: {level: \(level.rawValue)}").configuration.log.level == level)
        #expect((level.loggerLevel == nil) == (level == .off))
    }

    @Test("API keys may have names, and may be restricted to clients and origins")
    func scopedKeys() throws {
        let text = """
            api_keys:
              - plain-key-0123456789
              - {name: shop, key_file: key, clients: [ccid-1], origins: ["https://Shop.Example.com:443"]}
              - key: sha256:\(String(repeating: "0f", count: 32))
            zenkey: {clients: [{id: ccid-1, secret: s, allowed_origins: [https://app.example.com]}]}
            """
        let environment = needed.with("LATCHKEY_API_KEYS", nil).with("LATCHKEY_ZENKEY_CLIENTS", nil)
        let configuration = try load(text, environment: environment, files: ["key": "key-in-a-file-0123\n"])
            .configuration
        var shop = APIKey.plain(Secret("key-in-a-file-0123"))
        shop.name = "shop"
        shop.clients = ["ccid-1"].compactMap(ClientID.init)
        shop.origins = ["https://shop.example.com"].compactMap(Origin.init)
        #expect(
            configuration.apiKeys == [
                .plain(Secret("plain-key-0123456789")), shop,
                APIKey(.sha256([UInt8](repeating: 0x0F, count: 32))),
            ])
        #expect(configuration.zenkey.clients.first?.allowedOrigins.map(\.text) == ["https://app.example.com"])
    }

    @Test("Blocked e-mail domains are read as A-labels in lower case, however they are written")
    func blockedDomains() throws {
        let text = """
            registration_rules:
              blocked_email_domains:
                ["M\u{DC}nchen.example.", XN--MNCHEN-3YA.Example, "stra\u{DF}e.example", Mail.Example]
            """
        #expect(
            try load(text).configuration.registration.blockedEmailDomains == [
                "xn--mnchen-3ya.example", "xn--mnchen-3ya.example", "xn--strae-oqa.example", "mail.example",
            ])
    }
}
