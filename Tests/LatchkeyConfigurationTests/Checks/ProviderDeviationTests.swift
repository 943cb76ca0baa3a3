import Crypto
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import Testing

/// The settings for providers that deviate from the specifications.
@Suite("Settings of providers that deviate")
struct ProviderDeviationTests {
    private static let guid = "0f8fad5b-d9cb-469f-a165-70867728950e"
    private static let template = "issuer: 'https://login.example/{tenantid}/v2.0'"
    private static let acme = "issuer: 'https://acme.example'"
    private static let clients = "clients: [{id: c, secret: s, redirect_uris: ['https://app.example/']}]"

    private func configuration(_ keys: String, before: String = "") throws -> Configuration {
        try load("\(before)\nproviders: {acme: {kind: oidc, \(keys)}}").configuration
    }

    private func provider(_ keys: String) throws -> Configuration.Provider {
        try #require(try configuration("\(keys), \(Self.clients)").providers.first)
    }

    @Test("Each setting goes to its rule")
    func values() throws {
        let keys = """
            \(Self.acme), metadata_url: 'https://other.example/m', authorization_endpoint: 'https://a.example/',
            token_endpoint: 'https://t.example/', userinfo_endpoint: 'https://u.example/',
            jwks_uri: 'https://k.example/', end_session_endpoint: 'https://e.example/',
            trusted_audiences: [account, 'https://api.example'],
            authorization_parameters: {access_type: offline, hd: a, max_age: 31536000, prompt: create},
            request_parameters: [organization, ui_locales],
            logout_parameters: {logout_uri: '{post_logout_redirect_uri}'},
            nonce: 'off', attributes: {email: emails.0}, verified: {email: 'https://acme.example/verified'}
            """
        let rules = try provider(keys).rules
        #expect(rules.metadataURL?.text == "https://other.example/m")
        #expect(
            rules.endpoints.mapValues(\.host) == [
                "authorization_endpoint": "a.example", "token_endpoint": "t.example",
                "userinfo_endpoint": "u.example", "jwks_uri": "k.example", "end_session_endpoint": "e.example",
            ])
        #expect(rules.trustedAudiences.map(\.text) == ["account", "https://api.example"])
        #expect(
            rules.parameters.fixed == [
                "access_type": "offline", "hd": "a", "max_age": "31536000", "prompt": "create",
            ])
        #expect(rules.parameters.fromApps == ["organization", "ui_locales"])
        #expect(rules.logoutParameters == ["logout_uri": "{post_logout_redirect_uri}"])
        #expect(rules.nonce == .off && rules.pkce == .required)
        #expect(rules.userMembers.attributes.mapValues(\.text) == [.email: "emails.0"])
        #expect(rules.userMembers.verified.mapValues(\.text) == [.email: "https://acme.example/verified"])
    }

    @Test("nonce: issued is for the only client, and for those of a list that say nothing else")
    func issuedNonce() throws {
        let one = try configuration("\(Self.acme), nonce: issued, client_id: c, client_secret: s").providers[0]
        #expect(one.rules.nonce == .required && one.clients.map(\.nonce) == [.issued])
        let list = "clients: [{id: c, secret: s}, {id: d, secret: s, nonce: client}]"
        let several = try configuration("\(Self.acme), nonce: issued, \(list)").providers[0]
        #expect(several.rules.nonce == .required && several.clients.map(\.nonce) == [.issued, .client])
    }

    @Test("A client trusts audiences of its own")
    func clientAudiences() throws {
        let provider = try configuration(
            "\(Self.acme), trusted_audiences: [a], clients: [{id: c, secret: s, trusted_audiences: [b]}]"
        ).providers[0]
        #expect(provider.rules.trustedAudiences.map(\.text) == ["a"])
        #expect(provider.clients[0].trustedAudiences.map(\.text) == ["b"])
    }

    @Test("A client has parameters of its own, as a group or as one text")
    func clientParameters() throws {
        let client = "{id: c, secret: s, authorization_parameters: 'hd=b,audience=x', request_parameters: 'claims,idp'}"
        let found = try configuration("\(Self.acme), clients: [\(client)]").providers[0].clients[0].rules.parameters
        #expect(found.fixed == ["hd": "b", "audience": "x"])
        #expect(found.fromApps == ["claims", "idp"])
    }

    @Test(
        "A client's redirect_uri is what stands for none with codes of SDKs",
        arguments: SignInConfiguration.Client.SDKRedirectURI.allCases)
    func sdkRedirectURI(uri: SignInConfiguration.Client.SDKRedirectURI) throws {
        let client = "{id: c, secret: s, redirect_uri: \(uri.rawValue)}"
        let found = try configuration("\(Self.acme), clients: [\(client), {id: d, secret: s}]").providers[0].clients
        #expect(found.map(\.rules.sdkRedirectURI) == [uri, nil])
    }

    @Test(
        "The metadata of a template is that of the only tenant, or of all",
        arguments: [
            ("[\(guid)]", guid, [guid]), ("[\(guid.uppercased())]", guid, [guid]),
            ("[\(guid), contoso.example]", "common", [guid, "contoso.example"]), ("any", "common", nil),
        ] as [(String, String, Set<String>?)])
    func tenants(_ tenants: String, _ shown: String, _ allowed: Set<String>?) throws {
        for placeholder in ["{tenantid}", "{tenant}"] {
            let provider = try provider(
                "\(Self.template.replacing("{tenantid}", with: placeholder)), tenants: \(tenants)")
            #expect(provider.issuer.text == "https://login.example/\(shown)/v2.0")
            #expect(provider.rules.tenants?.template == "https://login.example/\(placeholder)/v2.0")
            #expect(provider.rules.tenants?.allowed == allowed)
        }
    }

    @Test(
        "A contradiction, or a name that this server sets itself, is refused with the reason",
        arguments: [
            (template, "has an issuer for several tenants, but no tenants"),
            ("\(acme), tenants: any", "has tenants, but its issuer has no {tenantid}"),
            ("\(template), tenants: [any, \(guid)]", "has any beside other tenants"),
            ("\(template), tenants: [common]", "common is a name for several tenants"),
            ("\(template), tenants: ['a/b']", "is not the id of a tenant"),
            ("issuer: 'https://{tenantid}.example/{other}', tenants: any", "is not a usable URL"),
            ("issuer: 'https://acme.example/{realm}', tenants: any", "is not a usable URL"),
            ("\(acme), metadata_url: 'http://acme.example/m'", "is plain http"),
            ("\(acme), authorization_parameters: {state: x}", "sets or reads itself"),
            ("\(acme), authorization_parameters: {nonce: x}", "sets or reads itself"),
            ("\(acme), authorization_parameters: {redirect_uri: 'https://evil.example'}", "sets or reads itself"),
            ("\(acme), authorization_parameters: {code_challenge: x}", "sets or reads itself"),
            ("\(acme), authorization_parameters: {'a b': x}", "is not the name of a parameter"),
            ("\(acme), authorization_parameters: {max_age: soon}", "is not a number of seconds"),
            ("\(acme), authorization_parameters: {max_age: '31536001'}", "is not a number of seconds up to"),
            ("\(acme), authorization_parameters: {prompt: login create}", "beside others that it cannot be with"),
            ("\(acme), authorization_parameters: {prompt: none login}", "beside others that it cannot be with"),
            ("\(acme), request_parameters: [hd], authorization_parameters: {hd: a}", "has hd in"),
            ("\(acme), request_parameters: [client_id]", "sets or reads itself"),
            ("\(acme), request_parameters: [client_type]", "sets or reads itself"),
            ("\(acme), request_parameters: [sub]", "sets or reads itself"),
            ("\(acme), request_parameters: [aud]", "sets or reads itself"),
            ("\(acme), authorization_parameters: {exp: '1'}", "sets or reads itself"),
            ("\(acme), authorization_parameters: {nbf: '1'}", "sets or reads itself"),
            ("\(acme), authorization_parameters: {iat: '1'}", "sets or reads itself"),
            ("\(acme), authorization_parameters: {jti: x}", "sets or reads itself"),
            ("\(acme), request_parameters: [prompt]", "sets or reads itself"),
            ("\(acme), logout_parameters: {logout_uri: '{url}'}", "has a placeholder that there is not"),
            ("\(acme), pkce: 'off', nonce: 'off'", "state alone ties a sign-in to its browser"),
            ("\(acme), profile: fapi2, pkce: 'off'", "demands pkce: required"),
        ])
    func refused(_ keys: String, _ reason: String) throws {
        let found = problems("providers: {acme: {kind: oidc, \(keys), \(Self.clients)}}")
        #expect(found.contains { $0.contains(reason) }, "\(found)")
        #expect(found.allSatisfy { $0.contains("providers.acme") }, "\(found)")
    }

    @Test("No field of a start is a parameter that an app may send to the provider")
    func startFields() {
        for field in APISchema.startFields(of: ["web"], end: "", "") {
            let found = problems(
                "providers: {acme: {kind: oidc, \(Self.acme), request_parameters: [\(field.name)], \(Self.clients)}}")
            #expect(found.first?.contains("sets or reads itself") == true, "\(field.name): \(found)")
        }
    }

    @Test("A client whose nonce is issued, or whose assertion names the issuer, contradicts its provider")
    func clientContradictions() {
        func found(_ keys: String, _ client: String) -> [String] {
            problems(
                "providers: {acme: {kind: oidc, \(keys), clients: [{id: c, \(client)}]}}",
                files: ["key": P256.Signing.PrivateKey().pemRepresentation])
        }
        #expect(
            found("\(Self.acme), nonce: 'off'", "secret: s, nonce: issued").first?.contains("nonce: issued") == true)
        let assertion = "private_key_file: key, assertion_audience: issuer"
        #expect(found("\(Self.template), tenants: any", assertion).first?.contains("assertion_audience") == true)
        #expect(found("\(Self.template), tenants: any", "private_key_file: key").isEmpty)
    }

    @Test("A provider's optional PKCE is for the clients that do not demand it")
    func optionalPKCE() throws {
        let clients = "clients: [{id: a, secret: s}, {id: b, secret: s, pkce: required}]"
        let loaded = try load("providers: {acme: {kind: oidc, \(Self.acme), pkce: optional, \(clients)}}")
        #expect(loaded.configuration.providers[0].clients.map(\.pkce) == [.optional, .required])
        let reasons = loaded.warnings.map(\.reason).filter { $0.contains("without PKCE") }
        #expect(reasons.map { $0.contains("client a may") } == [true], "\(reasons)")
    }

    @Test("An oauth2 provider has a credential, or PKCE")
    func withoutIDTokens() throws {
        let zoom = """
            kind: oauth2, issuer: 'https://zoom.us', authorization_endpoint: 'https://zoom.us/a',
            token_endpoint: 'https://zoom.us/t', user_endpoint: 'https://zoom.us/u', subject: id, pkce: 'off'
            """
        let text = "providers: {zoom: {\(zoom), clients: [{id: c, secret: s}]}}"
        let rules = try #require(try load(text).configuration.providers.first?.rules)
        #expect(rules.pkce == .off && rules.nonce == .off)
        let one = "client_id: c, token_endpoint_auth_method: none"
        for (pkce, client) in [("'off'", one), ("optional", one), ("optional", "clients: [{id: c}]")] {
            let found = problems("providers: {zoom: {\(zoom.replacing("'off'", with: pkce)), \(client)}}")
            #expect(found.first?.contains("anyone could redeem its codes") == true, "\(found)")
        }
        let demanding = "clients: [{id: c, token_endpoint_auth_method: none, pkce: required}]"
        #expect(problems("providers: {zoom: {\(zoom.replacing("'off'", with: "optional")), \(demanding)}}").isEmpty)
    }

    @Test(
        "A setting that takes a defence away is a warning",
        arguments: [
            ("\(template), tenants: any", "tenants", "the users of every tenant"), (acme, nil, ""),
            ("\(template), tenants: [\(guid)]", nil, ""),
            ("\(acme), pkce: 'off'", "pkce", "the nonce alone"), ("\(acme), nonce: 'off'", "nonce", "PKCE alone"),
            ("\(acme), pkce: 'off', nonce: 'off', accept_state_alone: true", "pkce", "state alone"),
        ] as [(String, String?, String)])
    func warnings(_ keys: String, _ key: String?, _ reason: String) throws {
        let text = ConfigurationWarningTests.client + "providers: {acme: {kind: oidc, \(keys), \(Self.clients)}}"
        let warnings = try load(text).warnings.filter { $0.key.hasPrefix("providers.acme") }
        #expect(warnings.map(\.key) == (key.map { ["providers.acme.\($0)"] } ?? []))
        #expect(warnings.allSatisfy { $0.reason.contains(reason) }, "\(warnings)")
    }

    @Test("Plain http is for the hosts that are listed")
    func plainHTTP() throws {
        let keys = "\(Self.acme), metadata_url: 'http://keycloak:8080/m', \(Self.clients)"
        #expect(
            problems("providers: {acme: {kind: oidc, \(keys)}}").first?.contains("list its host in plain_http_hosts")
                == true)
        let before = "plain_http_hosts: [Keycloak]\noutbound: {allow_private_networks: true}"
        let loaded = try load("\(before)\nproviders: {acme: {kind: oidc, \(keys)}}")
        #expect(loaded.configuration.providers[0].rules.metadataURL?.text == "http://keycloak:8080/m")
        #expect(loaded.configuration.endpointPolicy.httpHosts == ["keycloak"])
        // Another provider's metadata cannot name such a host.
        for (url, isOwn) in [("http://keycloak:8080/m", true), ("https://other.example/m", false)] {
            var provider = loaded.configuration.providers[0]
            provider.rules.metadataURL = EndpointURL(url, policy: .allowHTTP)
            let policy = loaded.configuration.relyingParty(of: provider).urlPolicy
            #expect((EndpointURL("http://keycloak:9990/keys", policy: policy) != nil) == isOwn)
        }
        #expect(
            loaded.warnings.filter { $0.key == "plain_http_hosts" }.map(\.reason).first?.contains("keycloak") == true)
        let alone = try load("plain_http_hosts: [keycloak]").warnings.filter { $0.key == "plain_http_hosts" }
        #expect(alone.contains { $0.reason.contains("has no effect while outbound.allow_private_networks") })
        #expect(problems("plain_http_hosts: ['keycloak:8080']").first?.contains("is not a host name") == true)
        let other = problems("\(before)\nproviders: {acme: {kind: oidc, \(keys.replacing("keycloak", with: "other"))}}")
        #expect(other.first?.contains("list its host in plain_http_hosts") == true)
    }

    @Test("No oauth2 provider has the issuer of a tenant")
    func sharedIssuer() {
        let text = """
            providers:
              acme: {kind: oidc, \(Self.template), tenants: any, \(Self.clients)}
              zoom: {kind: oauth2, issuer: 'https://login.example/x/v2.0', authorization_endpoint: 'https://zoom.us/a',
                token_endpoint: 'https://zoom.us/t', user_endpoint: 'https://zoom.us/u', subject: id, \(Self.clients)}
            """
        #expect(problems(text).first?.contains("may also be the issuer of another provider") == true)
    }

    @Test(
        "Providers of one issuer have the same addresses",
        arguments: [
            ("\(acme)", "\(acme)", true),
            ("\(acme), metadata_url: 'https://a.example/m'", "\(acme), metadata_url: 'https://a.example/m'", true),
            ("\(acme), metadata_url: 'https://a.example/m'", "\(acme), metadata_url: 'https://b.example/m'", false),
            ("\(acme)", "\(acme), metadata_url: 'https://b.example/m'", false),
            ("\(acme), jwks_uri: 'https://b.example/k'", "\(acme)", false),
            ("\(acme)", "\(acme), token_endpoint: 'https://b.example/t'", false),
            ("\(acme)", "issuer: 'https://b.example', jwks_uri: 'https://b.example/k'", true),
            ("\(template), tenants: any", "\(template), tenants: any, jwks_uri: 'https://b.example/k'", false),
            ("\(template), tenants: any", "issuer: 'https://login.example/x/v2.0'", true),
            (
                "\(template), tenants: any",
                "issuer: 'https://login.example/x/v2.0', jwks_uri: 'https://b.example/k'", false
            ),
            (
                "\(template), tenants: [y]",
                "issuer: 'https://login.example/x/v2.0', jwks_uri: 'https://b.example/k'", true
            ),
        ])
    func sharedAddresses(_ corp: String, _ partner: String, isValid: Bool) {
        let found = problems(
            """
            providers:
              corp: {kind: oidc, \(corp), \(Self.clients)}
              partner: {kind: oidc, \(partner), \(Self.clients)}
            """)
        #expect(found.contains { $0.contains("which has other addresses") } == !isValid, "\(found)")
        #expect(found.isEmpty == isValid, "\(found)")
    }
}
