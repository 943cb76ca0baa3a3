import Crypto
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Presets
import Primitives
import SecurityEvents
import SignIn
import TestSupport
import Testing

@testable import LatchkeyConfiguration

@Suite("Providers that are configured by their name")
struct ProviderPresetTests {
    private static let key = P256.Signing.PrivateKey().pemRepresentation

    /// Only this text and the files of keys; no variables.
    private func configuration(_ text: String) throws -> Configuration {
        try load(text, environment: [:], files: ["key.p8": Self.key, "key.pem": Self.key, "s": "secret"]).configuration
    }

    private func found(_ section: String) -> [String] {
        problems("providers: {\(section)}", environment: [:], files: ["key.p8": Self.key])
    }

    @Test("The whole table is read: sorted, with each fact of each row")
    func table() throws {
        let presets = try #require(ProviderPreset.table(PresetsFeature.table))
        #expect(presets.count >= 40)
        #expect(presets.map(\.name) == presets.map(\.name).sorted())
        for preset in presets {
            #expect(preset.name.consists(of: .lowerCaseAndDigits + "-"), "\(preset.name)")
            for url in [preset.console, preset.source] { #expect(url.hasPrefix("https://"), "\(preset.name): \(url)") }
            #expect(preset.registration.contains("{callback}"), "\(preset.name)")
            for key in ["name", "color", "kind", "issuer"] { #expect(preset.setting(key) != nil, "\(preset.name)") }
            let missing = Set(preset.lacks).subtracting(["refresh", "logout", "email", "verified email"])
            #expect(missing.isEmpty, "\(preset.name): \(missing)")
            let keys = Set(settings.ofProviders.map(\.name))
            for entry in preset.settings {
                #expect(keys.contains { "\($0).".hasPrefix("\(entry.name).") }, "\(preset.name): \(entry.name)")
            }
            for parameter in preset.parameters where !["client_id"].contains(parameter.name) {
                #expect(!keys.contains(parameter.name), "\(preset.name): \(parameter.name) is a setting")
            }
        }
    }

    @Test(
        "What `latchkey providers show` prints is a valid configuration, in five keys or fewer",
        arguments: rows.map(\.name))
    func valid(_ name: String) throws {
        let preset = try #require(Self.rows.first { $0.name == name })
        let keys = preset.needed
        #expect(keys.count <= 5)
        let text = preset.section(with: []).joined(separator: "\n") + "\n"
        let configuration = try configuration(text)
        let provider = try #require(configuration.providers.first)
        #expect(configuration.providers.count == 1 && provider.id == preset.name)
        #expect(provider.name == preset.title && provider.color == preset.setting("color"))
        #expect(!provider.issuer.text.contains("{") || preset.name == "microsoft-tenants")
        // Browsers come back to the sign-in page.
        let client = try #require(provider.clients.first)
        #expect(client.redirectURIs == ["http://127.0.0.1:8080/sign-in", "http://127.0.0.1:8080/"])
        #expect(client.allows(.web, at: "http://127.0.0.1:8080/sign-in"))
        #expect(provider.kind == .oauth2 || client.scopes.contains("openid"))
        // Under another name it is the same provider.
        let named = try self.configuration(
            text.replacing("  \(preset.name):", with: "  work:\n    preset: \(preset.name)")
        ).providers[0]
        #expect(named.id == "work" && named.name == provider.name && named.issuer == provider.issuer)
    }

    static let rows = PresetsFeature.all

    @Test("docs/providers.md has a row for each, and the README says how many there are")
    func documented() throws {
        let page = try Repository.text("docs/providers.md")
        for preset in Self.rows {
            let optional = preset.optional.map { "`\($0.name)` (`\($0.usual ?? "")`)" }
            let keys = (preset.needed.map { "`\($0.name)`" } + optional).joined(separator: ", ")
            let lacks = preset.lacks.isEmpty ? "–" : preset.lacks.joined(separator: ", ")
            let row = "| `\(preset.name)` | \(preset.title) | \(keys) | \(lacks) |"
            #expect(page.contains(row + "\n"), "\(row)")
        }
        #expect(try Repository.text("README.md").contains("[\(Self.rows.count - 1) others](docs/providers.md#"))
    }

    @Test("Two or three keys are enough for the best-known providers")
    func few() throws {
        let google = try configuration("providers: {google: {client_id: a, client_secret: b}}").providers[0]
        #expect(google.kind == .oidc && google.issuer.text == "https://accounts.google.com")
        #expect(google.name == "Google" && google.clients.map(\.id.text) == ["a"])
        #expect(google.clients[0].scopes == ["openid", "profile", "email"])
        #expect(google.events.transmitter == .google && google.eventIssuer == "https://accounts.google.com/")
        let work = try configuration(
            """
            public_url: https://login.example.com/
            providers:
              work:
                {preset: keycloak, url: "https://sso.example.com/", realm: staff, client_id: a, client_secret_file: s}
            """
        ).providers[0]
        #expect(work.issuer.text == "https://sso.example.com/realms/staff" && work.name == "Keycloak")
        #expect(work.clients[0].authentication == .clientSecretBasic(Secret("secret")))
        #expect(
            work.clients[0].redirectURIs == ["https://login.example.com/sign-in", "https://login.example.com/"])
    }

    @Test("The section wins over the preset; groups are merged, and a domain may be given as a URL")
    func overriding() throws {
        let text = """
            providers:
              okta:
                domain: https://acme.okta.com/
                issuer: https://acme.okta.com/oauth2/default
                name: Acme
                color: "#ABCDEF"
                scopes: [openid]
                redirect_uris: ["https://app.example.com/in"]
                client_id: a
                client_secret: b
              zoom: {client_id: a, client_secret: b, attributes: {name: first_name, email: mail}}
            """
        let providers = try configuration(text).providers
        #expect(providers[0].issuer.text == "https://acme.okta.com/oauth2/default")
        #expect(providers[0].name == "Acme" && providers[0].color == "#abcdef")
        #expect(providers[0].clients[0].scopes == ["openid"])
        #expect(providers[0].clients[0].redirectURIs == ["https://app.example.com/in"])
        #expect(
            providers[1].userMembers.attributes.mapValues(\.text) == [
                .name: "first_name", .givenName: "first_name", .familyName: "last_name", .email: "mail",
            ])
    }

    @Test("Where tokens are stored, a preset has what refresh tokens need, unless the section says its own scopes")
    func refresh() throws {
        let keys = "url: 'https://a.example', client_id: a, client_secret: b"
        let key = "encryption_keys: ['\(String(repeating: "1f", count: 32))']\n"
        func logto(_ more: String) throws -> Configuration.Provider {
            try configuration("\(key)providers: {logto: {\(keys)\(more)}}").providers[0]
        }
        let usual = try logto("")
        #expect(usual.clients[0].scopes == ["openid", "profile", "email"] && usual.rules.parameters.fixed.isEmpty)
        #expect(try logto(", store_tokens: false").clients[0].scopes == ["openid", "profile", "email"])
        let storing = try logto(", store_tokens: true")
        #expect(storing.clients[0].scopes == ["openid", "profile", "email", "offline_access"])
        #expect(storing.rules.parameters.fixed == ["prompt": "consent"])
        #expect(try logto(", store_tokens: on, scopes: [openid]").clients[0].scopes == ["openid"])
        let preset = try #require(Self.rows.first { $0.name == "logto" })
        #expect(preset.refreshTexts == ["scopes: offline_access", "authorization_parameters: prompt=consent"])
    }

    @Test(
        "A tenant is an id, in small letters as issuers have it; a name is warned of",
        arguments: [
            ("0f8fad5b-d9cb-469f-a165-70867728950e", false), ("0F8FAD5B-D9CB-469F-A165-70867728950E", false),
            ("contoso.onmicrosoft.com", true), ("0f8fad5b-d9cb-469f-a165-70867728950", true),
        ])
    func tenant(_ given: String, isName: Bool) throws {
        let text = "providers: {microsoft: {tenant: \(given), client_id: a, client_secret: b}}"
        let loaded = try load(text, environment: [:])
        let issuer = loaded.configuration.providers[0].issuer.text
        #expect(issuer == "https://login.microsoftonline.com/\(isName ? given : given.lowercased())/v2.0")
        #expect(loaded.warnings.contains { $0.reason.contains("the tenant is a name") } == isName)
    }

    @Test(
        "A provider's URL may lack its scheme and end with a slash",
        arguments: ["sso.example.com", "https://sso.example.com", "https://sso.example.com/"])
    func url(_ given: String) throws {
        let text = "providers: {keycloak: {url: '\(given)', realm: r, client_id: a, client_secret: b}}"
        #expect(try configuration(text).providers[0].issuer.text == "https://sso.example.com/realms/r")
    }

    @Test(
        "A name for several tenants is refused, and the remedy is the preset for them",
        arguments: ["common", "organizations", "consumers"])
    func severalTenants(_ name: String) {
        let found = found("microsoft: {tenant: \(name), client_id: a, client_secret: b}")
        #expect(found.count == 1 && found[0].contains("\(name) is a name for several tenants"), "\(found)")
        #expect(found.first?.contains("use the preset microsoft-tenants") == true)
    }

    @Test("Several clients begin as what the section says of all")
    func severalClients() throws {
        let text = """
            providers:
              auth0:
                domain: acme.eu.auth0.com
                token_endpoint_auth_method: client_secret_post
                clients: [{id: a, secret: b}, {id: c, secret: d, scopes: [openid]}]
            """
        let clients = try configuration("api_keys: [\(String(repeating: "k", count: 32))]\n" + text).providers[0]
            .clients
        #expect(clients.map(\.scopes) == [["openid", "profile", "email"], ["openid"]])
        #expect(clients.map(\.authentication) == [.clientSecretPost(Secret("b")), .clientSecretPost(Secret("d"))])
        #expect(clients.allSatisfy { $0.redirectURIs.isEmpty })
    }

    @Test(
        "What is wrong is named, with what to do",
        arguments: [
            (
                "gogle: {client_id: a, client_secret: b}",
                "providers.gogle: has no kind; give it: oidc, oauth2, camara, firebase_pnv or aggregator"
            ),
            ("gogle: {client_id: a, client_secret: b}", "did you mean the preset google?"),
            (
                "work: {preset: keycloack, client_id: a}",
                "`latchkey providers` lists them; did you mean the preset keycloak?"
            ),
            ("work: {preset: [keycloak]}", "has a preset that is not known"),
            (
                "keycloak: {client_id: a, client_secret: b, url: 'https://a.example'}",
                "providers.keycloak: has no realm; give it, such as example"
            ),
            (
                "keycloak: {client_id: a, client_secret: b, realm: r}",
                "has no url; give it, such as https://sso.example.com"
            ),
            (
                "keycloak: {client_id: a, client_secret: b, realm: r, url: 'https://a.example/realms/r'}",
                "the url has /realms/, which the preset adds; give what is before it, such as https://sso.example.com"
            ),
            (
                "keycloak: {client_id: a, client_secret: b, realm: r, url: 'sso example.com'}",
                "the url is not usable"
            ),
            (
                "keycloak: {client_id: a, client_secret: b, realm: '{url}', url: 'https://a.example'}",
                "the realm is not usable"
            ),
            (
                "keycloak: {client_id: a, client_secret: b, realm: [r], url: 'https://a.example'}",
                "the realm is not usable"
            ),
            ("google: {client_id: a}", "providers.google: has no secret"),
            ("google: {client_id: a}", "client_secret or client_secret_file"),
            ("google: {client_secret: a}", "providers.google: has no client_id, and no clients; give client_id"),
            ("google: {client_id: a, client_secret: b, realm: c}", "providers.google.realm: there is no such key"),
            ("google: {client_id: a, client_secret: b, clients: 'c:d'}", "has client_id beside clients"),
            ("google: {client_id: a, client_secret: b, colour: red}", "there is no such key; did you mean color?"),
            ("google: {client_id: a, client_secret: b, color: red}", "is not a color"),
            ("google: []", "is a list, but it is a group of keys"),
        ])
    func wrong(_ section: String, _ reason: String) {
        let found = found(section)
        #expect(found.count == 1 && found[0].contains(reason), "\(found)")
    }

    @Test("A defence that a preset takes away is a warning at its section, and nothing to do")
    func lostDefence() throws {
        func warnings(_ keys: String) throws -> [String] {
            let text =
                ConfigurationWarningTests.client + """
                    providers:
                      google: {client_id: a, client_secret: b}
                      linkedin: {client_id: a, client_secret: b\(keys)}
                    """
            return try load(text).warnings.map(\.description).filter { $0.hasPrefix("providers.linkedin.") }
        }
        let found = try warnings("")
        #expect(found.count == 1 && found[0].hasPrefix("providers.linkedin.pkce"), "\(found)")
        #expect(found.first?.contains("nothing to do: the preset linkedin says so") == true, "\(found)")
        let line = ConfigurationWarningTests.client.split(separator: "\n").count + 3
        #expect(found.first?.contains("line \(line)]") == true, "\(found)")
        #expect(try warnings(", pkce: 'off'").first?.contains("remove it as soon as the provider supports it") == true)
    }

    @Test("A problem with a value of a preset is at the line of the parameter, otherwise at that of the section")
    func origins() {
        let text = """
            providers:
              keycloak:
                client_id: a
                client_secret: b
                realm: r
                url: ftp://sso.example.com
            """
        #expect(problems(text, environment: [:]).map { $0.hasSuffix("[test.yaml line 6]") } == [true])
        let other = "providers:\n  keycloak:\n    client_id: a\n    client_secret: b\n    realm: r\n"
        #expect(problems(other, environment: [:]).map { $0.hasSuffix("[test.yaml line 2]") } == [true])
    }

    @Test("A build without the feature says so", arguments: ["google: {client_id: a}", "work: {preset: google}"])
    func withoutFeature(_ section: String) {
        let found = problems("providers: {\(section)}", environment: needed, of: FeatureList.none.settings)
        #expect(found.count == 1, "\(found)")
        #expect(
            found.first?.contains(
                "which needs the feature Presets, which this build of the program does not have; run a build with the "
                    + "trait Presets") == true, "\(found)")
    }

    @Test("Without clients to which browsers come back, an API key is needed as before")
    func keys() throws {
        let native = "google: {client_id: a, client_secret: b, redirect_uris: ['com.example.app:/in']}"
        #expect(found(native).map { $0.hasPrefix("api_keys: is missing") } == [true])
    }

    @Test("The schema for editors knows the parameters")
    func schema() {
        let text = ConfigurationSchema.text(of: settings)
        for parameter in Self.rows.flatMap(\.parameters) {
            #expect(text.contains("\"\(parameter.name)\": {"), "\(parameter.name)")
        }
        #expect(!ConfigurationSchema.text(of: FeatureList.none.settings).contains("\"realm\": {"))
    }
}
