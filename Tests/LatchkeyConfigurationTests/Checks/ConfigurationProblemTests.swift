import LatchkeyConfiguration
import Testing

private let postgresForm =
    "write postgres://user:password@host:5432/database?sslmode=verify-full, other signs than letters and digits in "
    + "user and password percent-encoded"

@Suite("Problems of a configuration")
struct ConfigurationProblemTests {
    @Test(
        "A bad value in the file is reported with its key, its line and a remedy",
        arguments: [
            (
                "http: {port: 70000}",
                "http.port: 70000 is out of range; give a whole number from 0 to 65535 [test.yaml line 1]"
            ),
            (
                "http:\n  port: x80",
                "http.port: x80 is not a whole number; give a whole number from 0 to 65535 [test.yaml line 2]"
            ),
            (
                "http: {port: -1}",
                "http.port: -1 is out of range; give a whole number from 0 to 65535 [test.yaml line 1]"
            ),
            (
                "http: {port: 99999999999999999999}",
                "http.port: the value is out of range; give a whole number from 0 to 65535 [test.yaml line 1]"
            ),
            ("http: {port: [80]}", "http.port: is a list; give a whole number from 0 to 65535 [test.yaml line 1]"),
            (
                "http:\n  port:",
                "http.port: has no value; give a whole number from 0 to 65535, or remove the line [test.yaml line 2]"
            ),
            (
                "http: 80",
                "http: is a single value, but it is a group of keys; write its keys below it [test.yaml line 1]"
            ),
            (
                "http: {prot: 80}",
                "http.prot: there is no such key; did you mean http.port? [test.yaml line 1]"
            ),
            (
                "port: 80",
                "port: there is no such key; did you mean http.port, metrics.port or tls.port? [test.yaml line 1]"
            ),
            ("htpp: {port: 80}", "htpp: there is no such key; did you mean http? [test.yaml line 1]"),
            (
                "compat: {saml: true}",
                "compat.saml: there is no such key; remove it, or see `latchkey check-config` [test.yaml line 1]"
            ),
            (
                "sessions: {access_lifetime: 1w}",
                "sessions.access_lifetime: 1w is not a duration; give a duration from 1s to 365d [test.yaml line 1]"
            ),
            (
                "sessions: {access_lifetime: 9223372036854775807d}",
                "sessions.access_lifetime: the value is out of range; give a duration from 1s to 365d [test.yaml line "
                    + "1]"
            ),
            (
                "sessions: {access_lifetime: 40d}",
                "sessions.access_lifetime: is longer than sessions.refresh_lifetime; make it shorter [test.yaml line 1]"
            ),
            (
                "backchannel_authentication: {pending_per_caller: 60, pending_per_carrier: 100}",
                "backchannel_authentication.pending_per_caller: is more than half of pending_per_carrier, so that two "
                    + "callers could keep out all others; make it smaller, or "
                    + "backchannel_authentication.pending_per_carrier larger [test.yaml line 1]"
            ),
            (
                "http: {limits: {max_body_bytes: 64kb}}",
                "http.limits.max_body_bytes: 64kb is not a size; give a size from 1KiB to 64KiB [test.yaml line 1]"
            ),
            (
                "log: {level: warm}",
                "log.level: warm is not one of its words (did you mean warn?); give one of off, fatal, error, warn, "
                    + "info, verbose, trace, debug, notice, warning, critical [test.yaml line 1]"
            ),
            (
                "rate_limits: {enabled: maybe}",
                "rate_limits.enabled: maybe is neither on nor off; give on or off [test.yaml line 1]"
            ),
            (
                "database: {url: 'postgres://user:pass word@db/latchkey'}",
                "database.url: is not a PostgreSQL URL; \(postgresForm) [test.yaml line 1]"
            ),
            (
                "database: {url: 'postgres://user:p@ss@db/latchkey'}",
                "database.url: is not a PostgreSQL URL; \(postgresForm) [test.yaml line 1]"
            ),
            (
                "database: {url: 'postgres://user:pass/word@db/latchkey'}",
                "database.url: is not a PostgreSQL URL; \(postgresForm) [test.yaml line 1]"
            ),
            (
                "database: {url: 'postgres://db/latchkey?sslmode'}",
                "database.url: has parameters after the ? that are not name=value; \(postgresForm) [test.yaml line 1]"
            ),
            (
                "database: {url: 'mysql://db/latchkey'}",
                "database.url: is not a database URL; write sqlite:///relative.db or sqlite:////absolute/path.db, or "
                    + "postgres://user:password@host/database [test.yaml line 1]"
            ),
            (
                "database: {pool_size: 1}",
                "database.pool_size: 1 is out of range; give a whole number from 2 to 256 [test.yaml line 1]"
            ),
            (
                "database: {url: 'sqlite://a.db'}",
                "database.url: an SQLite URL has three slashes before its path; write sqlite:///relative.db or "
                    + "sqlite:////absolute/path.db [test.yaml line 1]"
            ),
            (
                "database: {url: 'sqlite:///a.db?mode=memory'}",
                "database.url: the path has a ?, #, % or control character, which are not supported; write "
                    + "sqlite:///relative.db or sqlite:////absolute/path.db [test.yaml line 1]"
            ),
            (
                "database: {url: 'sqlite:///:memory:'}",
                "database.url: special SQLite names are not supported: the data must be in a file; write "
                    + "sqlite:///relative.db or sqlite:////absolute/path.db [test.yaml line 1]"
            ),
            (
                "database: {url: 'sqlite:////var/'}",
                "database.url: names no file; write sqlite:///relative.db or sqlite:////absolute/path.db "
                    + "[test.yaml line 1]"
            ),
            (
                "public_url: http://login.example.com",
                "public_url: is not the base URL of an https server; give one such as https://login.example.com; plain "
                    + "http is for loopback addresses only [test.yaml line 1]"
            ),
            (
                "zenkey: {discovery_ui_url: 'http://127.0.0.1:9/ui'}",
                "zenkey.discovery_ui_url: is plain http; give an https URL, or set allow_loopback_http for development "
                    + "[test.yaml line 1]"
            ),
            (
                "zenkey: {discovery_ui_url: 'https://user@ui.example.com'}",
                "zenkey.discovery_ui_url: is not a usable URL; give an https URL without user name and "
                    + "fragment [test.yaml line 1]"
            ),
            (
                "zenkey: {trusted_issuers: ['*.com']}",
                "zenkey.trusted_issuers[0]: is not a host pattern; write login.example.com, or *.example.com for all "
                    + "hosts below a name [test.yaml line 1]"
            ),
            (
                "zenkey: {issuers: {'31041': 'https://a.att.com', '3104100': 'https://b.att.com'}}",
                "zenkey.issuers[3104100]: is not an mccmnc; give its five or six digits [test.yaml line 1]"
            ),
            (
                "zenkey: {issuers: {'310410': 'https://issuer.example.com'}}",
                "zenkey.issuers: the issuer of 310410 is on a host that zenkey.trusted_issuers does not list; add its "
                    + "host there [test.yaml line 1]"
            ),
            (
                "allowed_origins: ['https://a.example.com/']",
                "allowed_origins[0]: is not an origin; write https://app.example.com, without a path; http is for "
                    + "loopback only [test.yaml line 1]"
            ),
            (
                "allowed_origins: ['*']",
                "allowed_origins[0]: is not an origin; write https://app.example.com, without a path; http is for "
                    + "loopback only [test.yaml line 1]"
            ),
            (
                "registration_rules: {blocked_email_domains: [user@example.com]}",
                "registration_rules.blocked_email_domains[0]: is not a domain name; write the part after the @, "
                    + "such as example.com [test.yaml line 1]"
            ),
            (
                "registration_rules: {blocked_email_domains: ['xn--a.example']}",
                "registration_rules.blocked_email_domains[0]: is not a domain name; write the part after the @, "
                    + "such as example.com [test.yaml line 1]"
            ),
            (
                "registration_rules: {blocked_email_domains: ['m\u{FC} nchen.example']}",
                "registration_rules.blocked_email_domains[0]: is not a domain name; write the part after the @, "
                    + "such as example.com [test.yaml line 1]"
            ),
            (
                "registration_rules: {blocked_email_domains: ['-m\u{FC}nchen.example']}",
                "registration_rules.blocked_email_domains[0]: is not a domain name; write the part after the @, "
                    + "such as example.com [test.yaml line 1]"
            ),
            (
                "registration_rules: {blocked_email_domains: ['m\u{FC}nchen']}",
                "registration_rules.blocked_email_domains[0]: is not a domain name; write the part after the @, "
                    + "such as example.com [test.yaml line 1]"
            ),
            (
                "registration_rules: {blocked_email_domains: ['m\u{FC}nchen..example']}",
                "registration_rules.blocked_email_domains[0]: is not a domain name; write the part after the @, "
                    + "such as example.com [test.yaml line 1]"
            ),
            (
                "registration_rules: {blocked_email_domains: ['*.m\u{FC}nchen.example']}",
                "registration_rules.blocked_email_domains[0]: is not a domain name; write the part after the @, "
                    + "such as example.com [test.yaml line 1]"
            ),
            (
                "registration_rules: {blocked_email_domains: ['\u{200D}a.example']}",
                "registration_rules.blocked_email_domains[0]: is not a domain name; write the part after the @, "
                    + "such as example.com [test.yaml line 1]"
            ),
            (
                "registration_rules: {required_attributes: [mail]}",
                "registration_rules.required_attributes[0]: mail is not one of its words (did you mean email?); give "
                    + "one of name, given_name, family_name, email, phone, postal_code [test.yaml line 1]"
            ),
            (
                "outbound: {ca_bundle: missing.pem}",
                "outbound.ca_bundle: the file does not exist; give the path of a readable file of PEM certificates "
                    + "[test.yaml line 1]"
            ),
            (
                "outbound: {ca_bundle: test.yaml}",
                "outbound.ca_bundle: the file has no certificate; give the path of a readable file of PEM certificates "
                    + "[test.yaml line 1]"
            ),
            (
                "outbound: {additional_ca_bundle: missing.pem}",
                "outbound.additional_ca_bundle: the file does not exist; give the path of a readable file of PEM "
                    + "certificates [test.yaml line 1]"
            ),
            (
                "outbound: {additional_ca_bundle: test.yaml}",
                "outbound.additional_ca_bundle: the file has no certificate; give the path of a readable file of PEM "
                    + "certificates [test.yaml line 1]"
            ),
            (
                "outbound: {proxy: 'proxy.example.com:3128'}",
                "outbound.proxy: is not the URL of an http proxy; give one such as "
                    + "http://proxy.example.com:3128 [test.yaml line 1]"
            ),
            (
                "outbound: {proxy: 'socks5://proxy.example.com'}",
                "outbound.proxy: is not the URL of an http proxy; give one such as "
                    + "http://proxy.example.com:3128 [test.yaml line 1]"
            ),
            (
                "outbound: {proxy: 'http://us%er:password@proxy.example.com'}",
                "outbound.proxy: has a user or password that is not percent-encoded (a percent sign is written %25); "
                    + "give one such as http://proxy.example.com:3128 [test.yaml line 1]"
            ),
            (
                "outbound: {proxy: 'http://proxy.example.com/path'}",
                "outbound.proxy: has something besides user, host and port; give one such as "
                    + "http://proxy.example.com:3128 [test.yaml line 1]"
            ),
            (
                "api_keys: {name: key}",
                "api_keys: is a group of keys; give a list of API keys [test.yaml line 1]"
            ),
        ])
    func badValue(text: String, expected: String) {
        let environment = text.hasPrefix("api_keys") ? needed.with("LATCHKEY_API_KEYS", nil) : needed
        #expect(problems(text, environment: environment) == [expected])
    }

    @Test(
        "A bad client is reported without its secret",
        arguments: [
            ("- {id: a}", "zenkey.clients[0]: has no secret; give it, or secret_file, or LATCHKEY_ZENKEY_CLIENTS"),
            ("- {secret: hidden}", "zenkey.clients[0]: has no id; give it"),
            ("- hidden", "zenkey.clients[0]: has no colon; write id:secret"),
            (
                "- {id: a, secret: \"hid\\nden\"}",
                "zenkey.clients[0].secret: is not a client secret; give 1 to 1024 ASCII characters, without line breaks"
            ),
            (
                "- {id: a, secret: hidden, secret_file: f}",
                "zenkey.clients[0].secret: is given twice; give it once, either here or as secret_file"
            ),
            (
                "- {id: a, secret_file: gone}",
                "zenkey.clients[0].secret_file: the file gone does not exist; give the path of a readable file of at "
                    + "most 64 KiB"
            ),
            (
                "- {id: a, secret_file: empty}",
                "zenkey.clients[0].secret_file: the file empty is empty; write the secret into it"
            ),
            ("- {id: a, secret: hidden, scopes: [email]}", "zenkey.clients[0].scopes: openid is missing; add openid"),
            (
                "- {id: a, secret: hidden, pkce: none}",
                "zenkey.clients[0].pkce: none is not one of its words; give one of required, optional"
            ),
            (
                "- {id: a, private_key_file: f}",
                "zenkey.clients[0].private_key: is neither PEM nor a JSON Web Key; give an RSA key of 2048 bits or "
                    + "more, or one of P-256 or Ed25519, in PEM or as a JSON Web Key"
            ),
            (
                "- {id: a, secret: hidden, token_endpoint_auth_method: private_key_jwt}",
                "zenkey.clients[0]: has no private_key; give it or private_key_file, or another way to authenticate"
            ),
            (
                "- {id: a, token_endpoint_auth_method: client_secret_post}",
                "zenkey.clients[0]: has no secret; give it, or secret_file, or LATCHKEY_ZENKEY_CLIENTS"
            ),
            (
                "- {id: a, secret: hidden, token_endpoint_auth_method: client_secret_jwt}",
                "zenkey.clients[0].token_endpoint_auth_method: the value is not one of its words (did you mean "
                    + "client_secret_post?); give one of client_secret_basic, client_secret_post, private_key_jwt, "
                    + "none, tls_client_auth, self_signed_tls_client_auth"
            ),
            (
                "- {id: a, secret: hidden, private_key_id: 'a b'}",
                "zenkey.clients[0].private_key_id: is not a key id; give 1 to 255 visible ASCII characters"
            ),
            (
                "- {id: a, secret: hidden, redirects_uris: 'b:c'}",
                "zenkey.clients[0].redirects_uris: there is no such key; did you mean redirect_uris?"
            ),
            (
                "- {id: a, secret: hidden, redirect_uris: ['javascript:alert(1)']}",
                "zenkey.clients[0].redirect_uris[0]: does not lead back to an app; give one such as "
                    + "https://app.example.com/callback or com.example.app://callback"
            ),
            (
                "- {id: a, secret: hidden, redirect_uris: ['https://a.example.com/#b']}",
                "zenkey.clients[0].redirect_uris[0]: has a fragment; give one such as "
                    + "https://app.example.com/callback or com.example.app://callback"
            ),
            (
                "- {id: a, secret: hidden, redirect_uris: ['https://a.example.com/*']}",
                "zenkey.clients[0].redirect_uris[0]: has a *, but redirect URIs have no wildcards; list each "
                    + "redirect URI"
            ),
            (
                "- {id: a, secret: hidden, redirect_uris: ['http://a.example.com/']}",
                "zenkey.clients[0].redirect_uris[0]: is not an https URL; plain http is for loopback only; give one "
                    + "such as https://app.example.com/callback or com.example.app://callback"
            ),
            (
                "- {id: a, secret: hidden}\n    - {id: a, secret: hidden2}",
                "zenkey.clients[1]: has the id of another client; keep one of them"
            ),
            ("- [a, hidden]", "zenkey.clients[0]: is a list; give id, secret and the client's other keys"),
        ])
    func badClient(client: String, expected: String) {
        let text = "zenkey:\n  clients:\n    \(client)"
        let environment = needed.with("LATCHKEY_ZENKEY_CLIENTS", nil)
        let line = client.contains("\n") ? 4 : 3
        let found = problems(text, environment: environment, files: ["f": "hidden", "empty": "\n"])
        #expect(found == [expected + " [test.yaml line \(line)]"])
    }

    @Test(
        "A bad variable is reported by its name",
        arguments: [
            (
                "LATCHKEY_HTTP_PORT", "80 80",
                "http.port: the value is not a whole number; give a whole number from 0 to 65535"
            ),
            (
                "LATCHKEY_API_KEYS", "a key",
                "api_keys[0]: a key is longer than 256 characters, or has a space, a comma, a control or a non-ASCII "
                    + "character; give a key of letters, digits and other visible ASCII characters, or sha256: and its "
                    + "hash"
            ),
            (
                "LATCHKEY_API_KEYS", "sha256:abc",
                "api_keys[0]: what follows sha256: is not a SHA-256; give its 64 hexadecimal digits"
            ),
            (
                "LATCHKEY_API_KEYS", "sha256:abcd",
                "api_keys[0]: what follows sha256: is not a SHA-256; give its 64 hexadecimal digits"
            ),
            ("LATCHKEY_API_KEYS", "one,,two", "api_keys: has an empty item; remove the extra comma or line"),
            ("LATCHKEY_ZENKEY_CLIENTS", "id", "zenkey.clients[0]: has no colon; write id:secret"),
            (
                "LATCHKEY_ZENKEY_CLIENTS", "id:",
                "zenkey.clients[0].secret: is not a client secret; give 1 to 1024 ASCII characters, without line breaks"
            ),
            (
                "LATCHKEY_ZENKEY_CLIENTS", ":secret",
                "zenkey.clients[0].id: is not a client id; give 1 to 255 ASCII characters"
            ),
            (
                "LATCHKEY_ZENKEY_ISSUERS", "310410=https://a.att.com,310410=https://b.att.com",
                "zenkey.issuers[310410]: is given twice; keep one of them"
            ),
            (
                "LATCHKEY_ZENKEY_ISSUERS", "https://a.att.com",
                "zenkey.issuers[?]: is not an mccmnc; give its five or six digits"
            ),
        ])
    func badVariable(name: String, value: String, expected: String) {
        #expect(problems(environment: needed.with(name, value)) == ["\(expected) [\(name)]"])
    }

    @Test(
        "A bad API key is reported without its content",
        arguments: [
            ("{name: a}", "api_keys[0]: has no key; give key or key_file"),
            (
                "{key: k, secret: s}",
                "api_keys[0]: has an unknown key; give key, and name, clients, origins and operator"
            ),
            (
                "{key: k, name: a b}",
                "api_keys[0].name: is not a name; give 1 to 64 letters, digits and . _ -"
            ),
            (
                "{key: k, origins: [https://a.example/b]}",
                "api_keys[0].origins[0]: is not an origin; write https://app.example.com, without a path; http is "
                    + "for loopback only"
            ),
            (
                "{key: k, name: a}, {key: l, name: a}",
                "api_keys[1]: has the name of another key; give it another name"
            ),
            (
                "{key: k, clients: [ccid-9]}",
                "api_keys[0]: names a client that no provider has; add the client to zenkey.clients or to its provider"
            ),
        ])
    func badKey(items: String, expected: String) {
        let found = problems("api_keys: [\(items)]", environment: needed.with("LATCHKEY_API_KEYS", nil))
        #expect(found == [expected + " [test.yaml line 1]"])
    }

    @Test(
        "A bad rate or address range is reported",
        arguments: [
            (
                "rate_limits: {per_address: 5}",
                "rate_limits.per_address: 5 is not a rate; give a number and a duration such as 600/1m, or 0 "
                    + "for no limit"
            ),
            (
                "rate_limits: {per_address: 0/1s}",
                "rate_limits.per_address: 0 is out of range; give a number and a duration such as 600/1m, or 0 "
                    + "for no limit"
            ),
            (
                "rate_limits: {per_api_key: 5/2d}",
                "rate_limits.per_api_key: 2d is out of range; give a number and a duration such as 600/1m, or 0 "
                    + "for no limit"
            ),
            (
                "http: {trusted_proxies: [10.0.0.1/8]}",
                "http.trusted_proxies[0]: is not an address or range; write 10.0.0.7, 10.0.0.0/8 or 2001:db8::/32"
            ),
        ])
    func badLimit(text: String, expected: String) {
        #expect(problems(text) == [expected + " [test.yaml line 1]"])
    }

    @Test("If keys are missing because there is no file, the report says so first; a wrong variable alone does not")
    func missingFile() throws {
        let loader = ConfigurationLoader(
            settings, files: FileReader { _, _ throws(FileReader.ReadError) in throw .notFound })
        let none = #expect(throws: ConfigurationErrors.self) { try loader.load(file: nil, environment: [:]) }
        #expect(
            none?.description.hasPrefix(
                "No configuration file was read: there is no Config/latchkey.yaml here. Name one with --config.\n")
                == true)
        let wrong = #expect(throws: ConfigurationErrors.self) {
            try loader.load(file: nil, environment: ["LATCHKEY_HTTP_PORT": "x"], purpose: .operation)
        }
        #expect(wrong?.description.contains("No configuration file") == false)
    }

    @Test("All missing keys that serving requires are reported at once")
    func missing() {
        #expect(
            problems(environment: [:]) == [
                "api_keys: is missing; without it no app can call the API; set LATCHKEY_API_KEYS, or the key in the "
                    + "file",
                "zenkey.discovery_url: is missing; without it no carrier can be found; "
                    + "set LATCHKEY_ZENKEY_DISCOVERY_URL, or the key in the file; or configure providers",
                "zenkey.clients: is missing; without it no user can sign in; "
                    + "set LATCHKEY_ZENKEY_CLIENTS, or the key in the file; or configure providers",
            ])
    }

    @Test("An empty list is reported as missing", arguments: ["api_keys", "zenkey.clients"])
    func emptyList(key: String) {
        let text = key == "api_keys" ? "api_keys: []" : "zenkey: {clients: []}"
        let name = key == "api_keys" ? "LATCHKEY_API_KEYS" : "LATCHKEY_ZENKEY_CLIENTS"
        let found = problems(text, environment: needed.with(name, nil))
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("\(key): is missing") == true)
    }

    @Test("All problems of the file and the environment are reported at once")
    func allAtOnce() {
        let text = "http: {port: x, host: '', loops: -1}\nlog: {level: loud}\nnonsense: 1"
        let environment = ["LATCHKEY_SESSIONS_REFRESH_LIFETIME": "long", "LATCHKEY_API_KEYS": "sha256:1"]
        let keys = problems(text, environment: environment).map { $0.prefix { $0 != ":" } }
        #expect(
            keys.sorted() == [
                "api_keys[0]", "http.host", "http.loops", "http.port", "log.level", "nonsense",
                "sessions.refresh_lifetime", "zenkey.clients", "zenkey.discovery_url",
            ])
    }

    @Test("More event loops than a server may have are a problem", arguments: [(64, false), (65, true), (128, true)])
    func loops(count: Int, isProblem: Bool) {
        let found = problems("http: {loops: \(count)}", environment: needed)
        #expect(found.map { $0.prefix { $0 != ":" } } == (isProblem ? ["http.loops"] : []))
    }

    @Test("A secret given in both forms is a problem", arguments: ["api_keys", "outbound.proxy"])
    func bothForms(key: String) {
        let name = "LATCHKEY_" + key.uppercased().split(separator: ".").joined(separator: "_")
        let environment = needed.with(name, "http://one-of-them.example.com").with(name + "_FILE", "path")
        #expect(
            problems(environment: environment) == ["\(key): \(name)_FILE is set too; set one of them [\(name)]"])
        let text = key == "api_keys" ? "api_keys: [a]\napi_keys_file: f" : "outbound: {proxy_file: f, proxy: b}"
        let found = problems(text, environment: needed, files: ["f": "http://hidden.example.com"])
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("\(key): is given twice") == true)
    }

    @Test("If the file is not YAML, no key is reported as missing")
    func unreadable() {
        let found = problems("a: b: c", environment: ["LATCHKEY_HTTP_PORT": "x"])
        #expect(found.count == 2)
        #expect(found.first?.hasPrefix("configuration file: is not YAML or JSON") == true)
        #expect(found.last?.hasPrefix("http.port") == true)
    }

    @Test("At most a hundred problems are kept, and the others are counted")
    func many() throws {
        let text = (0..<5000).map { "unknown_key_\($0): 1" }.joined(separator: "\n")
        let error = try #require(throws: ConfigurationErrors.self) { try load(text) }
        #expect(error.problems.count == 100)
        #expect(error.omitted == 4900)
        #expect(error.description.hasSuffix("… and 4900 more"))
    }

    @Test(
        "A variable that begins like YAML or JSON and is none is refused",
        arguments: [
            (#"[{"id": "one", "secret": "s"}"#, "begins like YAML or JSON and is not YAML or JSON"),
            (#"{"id": "one", "secret": "s"}"#, "is a group of keys; give a list of clients"),
            (#"[{"id": "one", "id": "one"}]"#, "has the key id more than once in one group; see its line 1"),
            (#"[{"id": &a "one", "secret": *a}]"#, "has an anchor or alias"),
            (#"[{"id": "one", "secret": "s", "nonsense": 1}]"#, "zenkey.clients[0].nonsense"),
            (String(repeating: "[", count: 40), "begins like YAML or JSON and "),
        ])
    func structuredText(_ text: String, _ problem: String) {
        let found = problems(environment: needed.with("LATCHKEY_ZENKEY_CLIENTS", text))
        #expect(found.count == 1 && found.first?.contains(problem) == true, "\(found)")
    }

    @Test(
        "Two sockets of one address cannot have the same port",
        arguments: [
            ("http: {port: 8443}\nmetrics: {port: 8443}", "metrics.port: is the port of http.port"),
            ("http: {port: 8443, host: 0.0.0.0}\nmetrics: {port: 8443}", "metrics.port: is the port of http.port"),
            ("http: {port: 8443, host: '::1'}\nmetrics: {port: 8443, host: '::'}", "metrics.port: is the port of"),
            ("http: {port: 8443, host: '::1'}\nmetrics: {port: 8443, host: 0.0.0.0}", nil),
            ("http: {port: 8443, host: 127.0.0.2}\nmetrics: {port: 8443}", nil),
            ("http: {port: 8443, host: '::'}\nmetrics: {port: 8443}", "metrics.port: is the port of http.port"),
            ("http: {port: 8443, host: ['::', 10.0.0.7]}\nmetrics: {port: 8443}", nil),
            ("http: {port: 8443, host: localhost}\nmetrics: {port: 8443, host: '::1'}", "metrics.port: is the port"),
            ("http: {port: 8443, host: localhost}\nmetrics: {port: 8443, host: '::'}", "metrics.port: is the port"),
            ("http: {port: 8443, host: localhost}\nmetrics: {port: 8443, host: 127.0.0.2}", nil),
            ("http: {port: 0}\nmetrics: {port: 0}", nil),
        ])
    func ports(_ text: String, _ problem: String?) {
        let found = problems(text).filter { !$0.contains("public_url") }
        #expect(found.count == (problem == nil ? 0 : 1) && found.first?.contains(problem ?? "") ?? true, "\(found)")
    }

    @Test(
        "What libpq refuses of the database's URL is a problem, which shows no password",
        arguments: [
            ("postgres://me:HIDDEN@db/latchkey?pgbouncer=true", "invalid URI query parameter pgbouncer"),
            ("postgres://me:HIDDEN@db/latchkey?connection_limit=5&x=HIDDEN", "query parameter connection_limit"),
            ("postgres://me:HIDDEN%zz@db/latchkey", "libpq says: invalid percent-encoded token; use"),
            ("postgres://me:HIDDEN@[::1/latchkey", "libpq says: "),
            ("postgres://me:HIDDEN@db/latchkey?sslmode=verifyfull", "invalid sslmode value"),
            ("postgres://me:HIDDEN@db/latchkey?target_session_attrs=primry", "invalid target_session_attrs value"),
            ("postgres://me:HIDDEN@db:http/latchkey", "port"),
            ("postgres://me:HIDDEN@db/latchkey?sslrootcert=/nonexistent", "the file of sslrootcert cannot be read"),
        ])
    func libpq(_ url: String, _ problem: String) {
        let found = problems("database: {url: '\(url)'}")
        #expect(found.count == 1 && found.first?.hasPrefix("database.url: ") == true, "\(found)")
        #expect(found.first?.contains(problem) == true && found.first?.contains("HIDDEN") == false, "\(found)")
    }

    @Test(
        "A pooler's URL is checked as the database's, and both are of PostgreSQL",
        arguments: [
            ("url: 'postgres://db/a', pooler_url: 'postgres://pooler:6432/a'", nil),
            ("url: 'postgres://db/a', pooler_url: 'postgres://x:HIDDEN@pooler/a?pgbouncer=1'", "parameter pgbouncer"),
            ("url: 'postgres://db/a', pooler_url: 'sqlite:///a.db'", "is for PostgreSQL only"),
            ("url: 'sqlite:///a.db', pooler_url: 'postgres://x:HIDDEN@pooler/a'", "is for PostgreSQL only"),
            ("pooler_url: 'postgres://pooler/a'", "is for PostgreSQL only"),
            ("url: 'postgres://db/a', pooler_url: 'HIDDEN'", "is not a database URL"),
        ])
    func pooler(_ keys: String, _ problem: String?) {
        let found = problems("database: {\(keys)}")
        #expect(found.count == (problem == nil ? 0 : 1), "\(found)")
        guard let problem else { return }
        #expect(found.first?.hasPrefix("database.pooler_url: ") == true, "\(found)")
        #expect(found.first?.contains(problem) == true && found.first?.contains("HIDDEN") == false, "\(found)")
    }

    @Test(
        "What libpq takes of the database's URL is none",
        arguments: [
            "postgres://me:x@db:5433/latchkey?sslmode=require&options=-csearch_path%3Dfew", "postgres://db1,db2:5433/a",
            "postgres://me@%2Frun%2Fpostgresql/latchkey", "postgresql:///latchkey?host=/run/postgresql",
            "postgres://[::1]:5433/latchkey", "postgres:///latchkey?hostaddr=127.0.0.1&connect_timeout=3",
        ])
    func libpqAccepts(_ url: String) {
        #expect(problems("database: {url: '\(url)'}") == [])
    }

    @Test("The system's certificates are refused where libpq does not know them")
    func systemCertificates() {
        let found = problems("database: {url: 'postgres://db/latchkey?sslmode=verify-full&sslrootcert=system'}")
        let refusal = problems("database: {url: 'postgres://db/latchkey?pgbouncer=true'}").first ?? ""
        let isOld = (10...15).contains { refusal.contains("libpq \($0) ") }
        #expect(found.contains { $0.contains("needs libpq 16") } == isOld && found.count <= 1, "\(found)")
    }

    @Test("The problems of the file are in the order of its lines, and the warnings stand beside them")
    func order() throws {
        let text = "metrics: {port: x}\nlog: {level: warm}\nhttp:\n  prot: 1\n  port: x\n"
        let error = try #require(throws: ConfigurationErrors.self) {
            try load(text, environment: needed.with("LATCHKEY_NONSENSE", "1").with("LATCHKEY_TLS_PORT", "x"))
        }
        #expect(error.problems.map(\.key) == ["metrics.port", "log.level", "http.prot", "http.port", "tls.port"])
        #expect(error.warnings.first?.key == "LATCHKEY_NONSENSE")
    }
}
