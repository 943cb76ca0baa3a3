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

    @Test("Every key has a variable, except those of a client, an API key, a provider or a webhook")
    func environmentNames() {
        for key in ConfigurationReference.keys(of: settings) {
            guard let name = key.environmentName else {
                let lists = ["zenkey.clients[].", "api_keys[].", "providers[].", "webhooks[]."]
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
            "one": "inner space stays\r\n", "keys": "first-key-of-the-app\nsecond-key-of-the-app\n",
            "proxy": "http://user:password@proxy.example.com:3128",
        ]
        let configuration = try load(text, environment: environment, files: contents).configuration
        #expect(configuration.zenkey.clients.map(\.authentication) == [.clientSecretBasic(Secret("inner space stays"))])
        #expect(
            configuration.apiKeys == [
                .plain(Secret("first-key-of-the-app")), .plain(Secret("second-key-of-the-app")),
            ])
        #expect(configuration.outbound.proxy?.exposed == "http://user:password@proxy.example.com:3128")
    }

    @Test(
        "White space at an end of a secret, which nobody sees, is refused with the name of its file or variable",
        arguments: ["s3cret ", " s3cret", "s3cret\t\n", "s3cret\n\n", "s3cret \r\n", "\ns3cret", " "])
    func unseenSpace(_ contents: String) {
        let text = "zenkey: {clients: [{id: ccid-1, secret_file: one}]}"
        let environment = needed.with("LATCHKEY_ZENKEY_CLIENTS", nil)
        let end = "begins or ends with a space, a tab or a line break; remove it"
        #expect(
            problems(text, environment: environment, files: ["one": contents])
                == ["zenkey.clients[0].secret: the file one \(end) [test.yaml line 1]"])
        let url = contents.replacing("s3cret", with: "sqlite:///a.db") + " "
        #expect(
            problems(environment: needed.with("LATCHKEY_DATABASE_URL", url))
                == ["database.url: \(end) [LATCHKEY_DATABASE_URL]"])
    }

    @Test("A secret of several lines may end with empty ones")
    func emptyLines() throws {
        let text = "zenkey: {clients: [{id: ccid-1, private_key_file: key}]}"
        let environment = needed.with("LATCHKEY_ZENKEY_CLIENTS", nil)
        let pem = "-----BEGIN NOTHING-----\nAA==\n-----END NOTHING-----\n\n"
        for contents in [pem, "{\"kty\":\"RSA\"} \n\n"] {
            let found = problems(text, environment: environment, files: ["key": contents])
            #expect(found.count == 1 && found.first?.contains("begins or ends") == false, "\(found)")
        }
    }

    @Test("A byte order mark and the line ends of Windows are no part of a file's text")
    func windowsFiles() throws {
        let text = "\u{FEFF}http:\r\n  port: 7000\r\nzenkey: {clients: [{id: ccid-1, secret_file: one}]}\r\n"
        let environment = needed.with("LATCHKEY_ZENKEY_CLIENTS", nil)
        let loaded = try load(text, environment: environment, files: ["one": "\u{FEFF}s3cret\r\n"])
        #expect(loaded.configuration.http.port == 7000)
        #expect(loaded.configuration.zenkey.clients.map(\.authentication) == [.clientSecretBasic(Secret("s3cret"))])
    }

    @Test(
        "A file in UTF-16 is refused with what to do",
        arguments: [[0xFF, 0xFE, 0x61, 0], [0xFE, 0xFF, 0, 0x61], [0x61, 0, 0x3A, 0], [0, 0x61, 0, 0x3A]] as [[UInt8]])
    func utf16(_ bytes: [UInt8]) throws {
        for secret in [false, true] {
            let reader = FileReader { (path, _) in
                let text = Array("zenkey: {clients: [{id: ccid-1, secret_file: one}]}".utf8)
                return FileReader.Contents(bytes: path == "one" || !secret ? bytes : text)
            }
            let error = try #require(throws: ConfigurationErrors.self) {
                try ConfigurationLoader(settings, files: reader).load(
                    file: "test.yaml", environment: needed.with("LATCHKEY_ZENKEY_CLIENTS", nil))
            }
            #expect(error.problems.map(\.reason) == [secret ? "the file one is in UTF-16" : "is in UTF-16"])
            #expect(error.problems.map(\.remedy) == ["save it in UTF-8"])
        }
    }

    @Test("The variables that Kubernetes makes for services are ignored, with one warning")
    func serviceLinks() throws {
        let links = [
            "LATCHKEY_HTTP_PORT": "tcp://10.0.0.1:8080", "LATCHKEY_HTTP_PORT_8080_TCP": "tcp://10.0.0.1:8080",
            "LATCHKEY_HTTP_PORT_8080_TCP_PROTO": "tcp", "LATCHKEY_HTTP_PORT_8080_TCP_PORT": "8080",
            "LATCHKEY_HTTP_PORT_8080_TCP_ADDR": "10.0.0.1", "LATCHKEY_HTTP_SERVICE_HOST": "10.0.0.1",
            "LATCHKEY_HTTP_SERVICE_PORT": "8080", "LATCHKEY_HTTP_SERVICE_PORT_WEB": "8080",
            "LATCHKEY_METRICS_PORT": "udp://[fd00::1]:9000", "LATCHKEY_PORT": "tcp://10.0.0.2:80",
            "LATCHKEY_SERVICE_HOST": "10.0.0.2", "LATCHKEY_TLS_PORT": "sctp://10.0.0.3:443",
        ]
        let loaded = try load("http: {port: 7000}", environment: needed.merging(links) { $1 })
        #expect(loaded.configuration.http.port == 7000 && loaded.configuration.metrics.port == nil)
        let warnings = loaded.warnings.filter { links[$0.key] != nil }.map(\.description)
        #expect(
            warnings == [
                "LATCHKEY_HTTP_PORT: is ignored, with all others that Kubernetes made for a service; set "
                    + "enableServiceLinks: false for the pod [LATCHKEY_HTTP_PORT]"
            ])
        // No setting has such a name.
        for key in ConfigurationReference.keys(of: settings) {
            let name = key.environmentName ?? ""
            #expect(!["_SERVICE_HOST", "_SERVICE_PORT", "_TCP", "_UDP", "_SCTP"].contains(where: name.contains))
        }
    }

    @Test("The health check needs a configuration of the address alone")
    func health() throws {
        let broken = "http: {port: 7000}\nlog: {level: loud}\nnonsense: 1\napi_keys_file: none"
        #expect(try load(broken, environment: [:], purpose: .health).configuration.http.port == 7000)
        for text in ["http: {prot: 1}", "http: {port: x}", "http: {host: '?'}", "http: 1", "http: [", "- http"] {
            #expect(!problems(text, environment: [:], purpose: .health).isEmpty, "\(text)")
        }
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
            ("http: {host: '[::1]'}", "http.host", "::1"), ("http: {host: ['[::]']}", "http.host", "::"),
            ("http: {trusted_proxies: ['[::1]', '[fd00::]/8']}", "http.trusted_proxies", "[::1],[fd00::]/8"),
            ("public_url: 'http://[::1]:8080'", "public_url", "http://[::1]:8080"),
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
            (
                "database: {url: 'postgres://db/a', pooler_url: 'postgres://me:secret@pooler:6432/a'}",
                "database.pooler_url", "postgres://me@pooler:6432/a"
            ),
            ("database: {pool_size: 256}", "database.pool_size", "256"),
            ("database: {statement_timeout: 1m}", "database.statement_timeout", "1m"),
            ("allowed_origins: ['https://App.Example.com:443']", "allowed_origins", "https://app.example.com"),
            (
                "allowed_origins: ['capacitor://localhost', 'http://tauri.localhost', 'chrome-extension://abc']",
                "allowed_origins", "capacitor://localhost,http://tauri.localhost,chrome-extension://abc"
            ),
            ("redirects: {lifetime: 10m}", "redirects.lifetime", "10m"),
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
