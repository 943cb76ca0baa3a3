import LatchkeyConfiguration
import TestSupport
import Testing

@Suite("Warnings about a configuration")
struct ConfigurationWarningTests {
    /// A client that causes no warning.
    static let client =
        "zenkey: {clients: [{id: ccid-1, redirect_uris: ['com.example.app://callback']}], issuers: \(issuers)}\n"
    /// A network that is pinned to its issuer.
    static let issuers = "{'310410': 'https://oidc.xcijv.com'}"

    @Test(
        "A share of the connections that is below their number causes no warning",
        arguments: [
            "http: {limits: {max_connections_per_address: auto}}",
            "http: {limits: {max_connections_per_address: 16383}}", "http: {trusted_proxies: [10.0.0.2]}",
            "http: {trusted_proxies: [10.0.0.2], limits: {max_connections_per_address: 4096}}",
        ])
    func belowAll(text: String) throws {
        #expect(try load(Self.client + text).warnings.isEmpty)
    }

    @Test("A safe configuration has no warnings")
    func none() throws {
        #expect(try load(Self.client, readableByAll: true).warnings.isEmpty)
    }

    @Test(
        "A setting that removes a defence causes a warning",
        arguments: [
            ("allow_loopback_http: true", "allow_loopback_http", "plain HTTP"),
            ("rate_limits: {enabled: off}", "rate_limits.enabled", "are off"),
            ("http: {host: 0.0.0.0}", "http.host", "other machines"),
            ("http: {host: '::'}\npublic_url: http://127.0.0.1:8080", "http.host", "other machines"),
            ("outbound: {allow_private_networks: true}", "outbound.allow_private_networks", "private network"),
            ("database: {synchronous: normal}", "database.synchronous", "loss of power"),
            ("database: {url: 'postgres://db.example.com/latchkey'}", "database.url", "unencrypted"),
            (
                "database: {url: 'postgres://127.0.0.1,db.example.com/latchkey?sslmode=prefer'}", "database.url",
                "unencrypted"
            ),
            (
                "database: {url: 'postgres://127.0.0.1', pooler_url: 'postgres://pooler.example.com/latchkey'}",
                "database.pooler_url", "unencrypted"
            ),
            (
                "registration_rules: {required_attributes: [email]}", "registration_rules.required_attributes",
                "automatic"
            ),
            ("http: {trusted_proxies: [0.0.0.0/0]}", "http.trusted_proxies", "any client address"),
            ("http: {trusted_proxies: ['::/0']}", "http.trusted_proxies", "any client address"),
            ("http: {trusted_proxies: [8.0.0.0/7]}", "http.trusted_proxies", "has 8.0.0.0/7"),
            (
                "http: {trusted_proxies: [10.0.0.2], limits: {max_connections_per_address: 0}}",
                "http.limits.max_connections_per_address", "one address may take all connections"
            ),
            (
                "http: {limits: {max_connections_per_address: 0}}", "http.limits.max_connections_per_address",
                "one address may take all connections"
            ),
            (
                "http: {limits: {max_connections: 100, max_connections_per_address: 100}}",
                "http.limits.max_connections_per_address", "one address may take all connections"
            ),
            (
                "http: {trusted_proxies: [10.0.0.2], limits: {max_connections_per_address: 9}}",
                "http.limits.max_connections_per_address", "of a proxy"
            ),
            ("rate_limits: {per_address: 0}", "rate_limits.per_address", "any number of requests"),
            (
                "rate_limits: {sign_ins_per_address: 0}", "rate_limits.sign_ins_per_address",
                "any number of sign-ins"
            ),
            (
                "rate_limits: {starts_per_address: 0}", "rate_limits.starts_per_address",
                "any number of starts"
            ),
            ("rate_limits: {starts_per_subnet: 0}", "rate_limits.starts_per_subnet", "one subnet"),
            (
                "rate_limits: {prompts_per_user: 0}", "rate_limits.prompts_per_user",
                "one user may be prompted"
            ),
            (
                "rate_limits: {prompts_per_caller: 0}", "rate_limits.prompts_per_caller",
                "other spellings"
            ),
            ("sessions: {access_lifetime: 25h}", "sessions.access_lifetime", "stolen"),
            ("id_token: {clock_skew: 6m}", "id_token.clock_skew", "expire"),
            (
                "encryption_keys: [000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f]",
                "encryption_keys", "sample"
            ),
            (
                "transactions: {encryption_keys: [000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f]}",
                "transactions.encryption_keys", "sample"
            ),
            (
                "vault: {encryption_keys: [000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f]}",
                "vault.encryption_keys", "sample"
            ),
        ])
    func unsafe(text: String, key: String, words: String) throws {
        let warnings = try load(Self.client + text).warnings.filter { !$0.reason.contains("former name") }
        #expect(warnings.map(\.key) == [key])
        #expect(warnings.first?.reason.contains(words) == true)
        #expect(warnings.first?.origin != ConfigurationOrigin.none)
    }

    @Test(
        "A local database, or one over TLS, causes no warning",
        arguments: [
            "postgres://127.0.0.1:5433/latchkey", "postgres://localhost", "postgres://[::1]/latchkey",
            "postgresql:///latchkey?host=/run/postgresql", "postgres://%2Frun%2Fpostgresql/latchkey",
            "postgres://db.example.com/latchkey?sslmode=require",
            "postgresql://one.example.com,two.example.com/latchkey?target_session_attrs=read-write&sslmode=verify-full",
        ])
    func confidential(url: String) throws {
        #expect(try load(Self.client + "database: {url: '\(url)'}").warnings.isEmpty)
    }

    @Test("A database password in a world-readable file causes a warning")
    func databasePassword() throws {
        func warnings(_ url: String) throws -> [String] {
            try load(Self.client + "database: {url: '\(url)'}", readableByAll: true).warnings.map(\.key)
        }
        #expect(try warnings("postgres://latchkey:x@127.0.0.1/latchkey") == ["database.url"])
        #expect(try warnings("postgres://127.0.0.1/latchkey?password=x") == ["database.url"])
        #expect(try warnings("postgres://latchkey@127.0.0.1/latchkey").isEmpty)
        let pooler = "postgres://127.0.0.1', pooler_url: 'postgres://latchkey:x@127.0.0.1:6432/latchkey"
        #expect(try warnings(pooler) == ["database.pooler_url"])
    }

    private static let vault = "encryption_keys: [\(String(repeating: "5a", count: 32))]\n"
    struct Scopes: Sendable {
        let scopes: String
        var unknown: [String] = []
        var remedy = ""
    }

    private static let scopes = [
        Scopes(scopes: "openid, name, email, phone, postal_code, profile, offline_access"),
        Scopes(scopes: "openid, address, birthdate, last_4_social, proofing"),
        Scopes(scopes: "openid, is_adult, is_adult_18, is_adult_21, is_over_13"),
        Scopes(scopes: "openid, lastfour_bogus", unknown: ["lastfour_bogus"], remedy: "remove it: a provider"),
        Scopes(scopes: "openid, emial, postal-code", unknown: ["emial", "postal-code"], remedy: "perhaps email is"),
        Scopes(scopes: "openid, Email", unknown: ["Email"], remedy: "perhaps email is"),
    ]

    @Test("A scope of carriers that is not known causes a warning", arguments: scopes)
    func unknownScopes(_ row: Scopes) throws {
        let clients =
            "zenkey: {clients: [{id: ccid-1, redirect_uris: ['com.example.app://callback'], "
            + "scopes: [\(row.scopes)]}], issuers: \(Self.issuers)}\n"
        let warnings = try load(Self.vault + clients).warnings
        #expect(warnings.map(\.key) == row.unknown.map { _ in "zenkey.clients" })
        for (warning, scope) in zip(warnings, row.unknown) { #expect(warning.reason.contains("scope \(scope),")) }
        #expect(warnings.first?.remedy.hasPrefix(row.remedy) ?? true)
    }

    @Test(
        "A scope of a provider with scopes of its own causes a warning only if it looks misspelled",
        arguments: [("https://api.example/calendar.read", 0), ("read:user", 0), ("emial", 1), ("birthdat", 1)])
    func otherScopes(scope: String, count: Int) throws {
        let providers = """
            providers: {acme: {kind: oidc, issuer: 'https://acme.example', clients: [{id: a, secret: \
            0123456789abcdef0123456789abcdef, redirect_uris: ['https://a.example/'], scopes: [openid, '\(scope)']}]}}

            """
        let warnings = try load(Self.vault + Self.client + providers).warnings
        #expect(warnings.count { $0.reason.contains("the client a of acme asks for the scope") } == count)
    }

    @Test("Scopes whose values are stored encrypted only cause a warning without a key")
    func unstoredScopes() throws {
        let clients =
            "zenkey: {clients: [{id: ccid-1, redirect_uris: ['com.example.app://callback'], "
            + "scopes: [openid, is_adult_18, last_4_social, birthdate]}], issuers: \(Self.issuers)}\n"
        let warnings = try load(clients).warnings
        #expect(warnings.map(\.key) == ["zenkey.clients"])
        #expect(warnings.first?.reason.contains("last_4_social, birthdate") == true)
        #expect(try load(Self.vault + clients).warnings.isEmpty)
    }

    @Test("Listening on all addresses behind an https proxy causes no warning")
    func proxied() throws {
        let text =
            "http: {host: 0.0.0.0, trusted_proxies: [10.0.0.2]}\npublic_url: https://login.example.com"
        #expect(try load(Self.client + text).warnings.isEmpty)
    }

    @Test(
        "Private networks and values at their bounds cause no warning; disabled rate limits cause one",
        arguments: [
            ("http: {trusted_proxies: [10.0.0.0/8, 'fc00::/7', '::ffff:10.0.0.0/104']}", 0),
            ("rate_limits: {enabled: off, per_address: 0, sign_ins_per_address: 0}", 1),
            ("sessions: {access_lifetime: 24h}\nid_token: {clock_skew: 5m}", 0),
        ])
    func bounds(text: String, count: Int) throws {
        #expect(try load(Self.client + text).warnings.count == count)
    }

    @Test(
        "A world-readable file that only names the files of secrets has none; one with a secret does",
        arguments: [
            ("zenkey: {clients: [{id: a, secret_file: f, redirect_uris: ['a.b:/c']}]}", nil),
            ("zenkey: {clients: [{id: a, secret: s, redirect_uris: ['a.b:/c']}]}", "zenkey.clients"),
            ("zenkey: {clients: ['a:s']}", "zenkey.clients"), ("zenkey: {clients: 'a:s'}", "zenkey.clients"),
            ("zenkey: {clients_file: pairs}", nil),
            (
                "zenkey: {clients: [{id: a, secret_file: f, redirect_uris: ['a.b:/c']}, {id: b, secret: s}]}",
                "zenkey.clients"
            ),
            (acme("secret_file: f"), nil), (acme("secret: s"), "providers"),
            ("api_keys: [{name: a, key_file: f}]", nil), ("api_keys: [{name: a, key: \(key)}]", "api_keys"),
            ("api_keys: [\(key)]", "api_keys"),
        ] as [(String, String?)])
    func secretFiles(text: String, key: String?) throws {
        var environment = needed
        if text.hasPrefix("zenkey") { environment["LATCHKEY_ZENKEY_CLIENTS"] = nil }
        if text.hasPrefix("api_keys") { environment["LATCHKEY_API_KEYS"] = nil }
        let loaded = try load(
            text, environment: environment, files: ["f": Self.key, "pairs": "a:s"], readableByAll: true)
        let warned = loaded.warnings.filter { $0.reason.contains("the file holds secrets") }
        #expect(warned.map(\.key) == [key].compactMap(\.self))
        #expect(loaded.warnings.contains { $0.reason.contains("in plain text") } == (key == "api_keys"))
    }

    private static let key = String(repeating: "k", count: 40)

    private static func acme(_ secret: String) -> String {
        "providers: {acme: {kind: oidc, issuer: 'https://acme.example', clients: [{id: a, \(secret), redirect_uris: "
            + "['a.b:/c']}]}}"
    }

    @Test("API keys in a file of their own are not in the configuration file, whoever can read that")
    func ownFile() throws {
        let environment = needed.with("LATCHKEY_API_KEYS", nil)
        let key = String(repeating: "k", count: 40)
        let apart = try load("api_keys_file: keys", environment: environment, files: ["keys": key])
        #expect(!apart.warnings.contains { $0.key.hasPrefix("api_keys") })
        let readable = try load(
            "api_keys_file: keys", environment: environment, files: ["keys": key], readableByAll: true)
        let warnings = readable.warnings.filter { $0.key.hasPrefix("api_keys") }
        #expect(warnings.map(\.reason) == ["every user of this machine can read the file keys"])
        let within = try load("api_keys: [\(key)]", environment: environment, readableByAll: true)
        #expect(within.warnings.count { $0.key == "api_keys" } == 2)
    }

    @Test("An https public_url without trusted proxies causes a warning")
    func unknownProxy() throws {
        let text = "public_url: https://login.example.com\n"
        #expect(try load(Self.client + text).warnings.map(\.key) == ["http.trusted_proxies"])
        #expect(
            try load(Self.client + text + "rate_limits: {enabled: off}").warnings.map(\.key) == ["rate_limits.enabled"])
    }

    @Test("A sample secret from the documentation causes a warning, as text and as a hash")
    func samples() throws {
        let samples: [(key: String, variable: String, value: String)] = [
            ("api_keys", "LATCHKEY_API_KEYS", "demo-key"),
            (
                "api_keys", "LATCHKEY_API_KEYS",
                "sha256:c48a01f49fd0f2cc404bc3cbbc80e91457a3d41bb429a695243de4c61794155c"
            ),
            ("zenkey.clients", "LATCHKEY_ZENKEY_CLIENTS", "ccid-1:your-client-secret"),
            (
                "encryption_keys", "LATCHKEY_ENCRYPTION_KEYS",
                "1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100"
            ),
        ]
        for (key, variable, value) in samples {
            let warnings = try load(Self.client, environment: needed.with(variable, value)).warnings
            let found = warnings.filter { $0.reason.contains("sample") }
            #expect(found.map(\.key) == [key])
            #expect(!warnings.contains { $0.description.contains(value) }, "\(key)")
        }
    }

    @Test(
        "A client's id or secret in quotes, and one that stands for another, cause a warning that does not show it",
        arguments: [
            ("'\"abc\"'", "id", "in quotes"), ("\"'abc'\"", "secret", "in quotes"), ("changeme", "id", "placeholder"),
            ("your-client-id", "id", "placeholder"), ("'<client-id>'", "id", "placeholder"),
            ("xxxxxxxx", "secret", "placeholder"), ("TODO", "secret", "placeholder"),
            ("'${SECRET}'", "secret", "placeholder"), ("replace-with-the-client-secret", "secret", "placeholder"),
            ("todo-app", "id", nil), ("'a\"b'", "secret", nil), ("x1xx", "secret", nil), ("'\"'", "secret", nil),
        ] as [(String, String, String?)])
    func placeholders(_ value: String, _ part: String, _ words: String?) throws {
        let (id, secret) = part == "id" ? (value, "s3cret-1") : ("client-7", value)
        let text = Self.client + "providers: {google: {client_id: \(id), client_secret: \(secret)}}\n"
        let found = try load(text).warnings.filter { $0.reason.contains("a client's ") }
        #expect(found.map(\.key) == (words == nil ? [] : ["providers.google.clients"]), "\(found)")
        if let words { #expect(found.first?.reason.contains("\(part) is ") == true && "\(found)".contains(words)) }
        #expect(!"\(found)".contains("abc"))
    }

    @Test("Networks that are not pinned to an issuer cause one warning")
    func unpinnedNetworks() throws {
        let clients = "zenkey: {clients: [{id: ccid-1, redirect_uris: ['com.example.app://callback']}]}\n"
        let warnings = try load(clients).warnings
        #expect(warnings.map(\.key) == ["zenkey.issuers"])
        #expect(warnings.first?.reason.contains("trusted at the first sign-in") == true)
    }

    @Test("A world-readable database causes a warning")
    func openDatabase() throws {
        let reader = files(["test.yaml": Self.client + "database: {url: 'sqlite:///open.db'}"])
        let loader = ConfigurationLoader(
            settings,
            files: FileReader { (path, limit) throws(FileReader.ReadError) in
                try reader.contents(of: path, limit: limit)
            } isReadableByAll: {
                $0 == "open.db"
            })
        let warnings = try loader.load(file: "test.yaml", environment: needed).warnings
        #expect(warnings.map(\.key) == ["database.url"])
    }

    @Test("A client id of two providers causes a warning if an API key or an origin is restricted to it")
    func sharedClient() throws {
        let providers = """
            providers:
              other:
                kind: oidc
                issuer: https://login.example.org
                clients: [{id: ccid-1, secret: 0123456789abcdef, redirect_uris: ['https://app.example.com/cb']}]

            """
        let keys = "api_keys: [{name: shop, key: 'sha256:\(String(repeating: "0a", count: 32))', clients: [ccid-1]}]\n"
        let environment = needed.with("LATCHKEY_API_KEYS", nil)
        let warnings = try load(Self.client + providers + keys, environment: environment).warnings
        #expect(warnings.map(\.key) == ["api_keys[0]"])
        #expect(warnings.first?.reason.contains("(zenkey, other)") == true)
        #expect(try load(Self.client + keys, environment: environment).warnings.isEmpty)
        let origins =
            "zenkey: {clients: [{id: ccid-1, redirect_uris: ['a.b://c'], allowed_origins: ['https://a.example']}], "
            + "issuers: \(Self.issuers)}\n"
        #expect(try load(origins + providers).warnings.map(\.key) == ["zenkey.clients"])
        #expect(try load(origins).warnings.isEmpty)
    }

    @Test("Plain HTTP for other machines beside HTTPS causes a warning")
    func besideHTTPS() throws {
        let tls = "tls: {certificate_file: chain, private_key_file: key}\npublic_url: https://login.example.com\n"
        let files = ["chain": TLSTexts.chain, "key": TLSTexts.key]
        let text = Self.client + tls
        #expect(try load(text + "http: {host: 0.0.0.0}", files: files).warnings.map(\.key) == ["http.host"])
        #expect(try load(text, files: files).warnings.isEmpty)
    }

    @Test("Plain or short API keys in the file, and a world-readable file, cause warnings")
    func keysInFile() throws {
        let environment = needed.with("LATCHKEY_API_KEYS", nil)
        let warnings = try load(Self.client + "api_keys: [short]", environment: environment, readableByAll: true)
            .warnings
        #expect(warnings.map(\.key) == ["api_keys", "api_keys", "api_keys"])
        #expect(warnings.map(\.origin).allSatisfy { $0 == .file(path: "test.yaml", line: 2) })
        let hashed = "api_keys: ['sha256:\(String(repeating: "0a", count: 32))']"
        #expect(try load(Self.client + hashed, environment: environment).warnings.isEmpty)
    }

    @Test("A world-readable secret file causes a warning")
    func secretFile() throws {
        let environment = needed.with("LATCHKEY_API_KEYS", nil).with("LATCHKEY_API_KEYS_FILE", "keys")
        let keys = ["keys": "0123456789abcdef0123456789abcdef"]
        let warnings = try load(Self.client, environment: environment, files: keys, readableByAll: true).warnings
        #expect(warnings.map(\.origin) == [.environment("LATCHKEY_API_KEYS_FILE")])
        #expect(try load(Self.client, environment: environment, files: keys).warnings.isEmpty)
    }

    @Test("A client without redirect URIs, or with optional PKCE, causes a warning")
    func clients() throws {
        let text = "zenkey: {clients: [{id: ccid-1, pkce: optional}], issuers: \(Self.issuers)}"
        let warnings = try load(text).warnings
        #expect(warnings.map(\.key) == ["zenkey.clients", "zenkey.clients"])
        #expect(warnings.allSatisfy { $0.reason.contains("ccid-1") })
    }

    @Test("An unknown variable causes a warning, with the likely name")
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
