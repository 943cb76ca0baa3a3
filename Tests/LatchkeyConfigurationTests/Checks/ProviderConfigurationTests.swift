import AccountMigration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

@testable import LatchkeyConfiguration

@Suite("The configuration of providers that are not carriers")
struct ProviderConfigurationTests {
    private static let acme =
        "kind: oidc, issuer: 'https://acme.example', clients: [{id: c, secret: s, redirect_uris: ['a.b:/c']}]"

    private func found(_ text: String) -> [String] {
        problems("providers: {\(text)}", environment: needed)
    }

    @Test("Several providers can be configured, each with its own clients")
    func several() throws {
        let text = """
            providers:
              acme:
                kind: oidc
                name: Acme Accounts
                issuer: https://acme.example/tenant
                clients:
                  - {id: one, secret_file: secret, scopes: [openid, email], pkce: optional}
                  - {id: two, secret: s, token_endpoint_auth_method: client_secret_post}
              globex-2: {kind: oidc, issuer: "https://globex.example/", clients: "three:secret"}
            """
        let providers = try load(text, files: ["secret": "of a file\n"]).configuration.providers
        #expect(providers.map(\.id) == ["acme", "globex-2"])
        #expect(providers.map(\.name) == ["Acme Accounts", "globex-2"])
        #expect(providers.map(\.issuer.text) == ["https://acme.example/tenant", "https://globex.example/"])
        let clients = providers[0].clients
        #expect(clients.map(\.id.text) == ["one", "two"])
        #expect(clients[0].authentication == .clientSecretBasic(Secret("of a file")))
        #expect(clients[0].scopes == ["openid", "email"])
        #expect(clients[0].pkce == .optional)
        #expect(clients[1].authentication == .clientSecretPost(Secret("s")))
        #expect(providers[1].clients.map(\.authentication) == [.clientSecretBasic(Secret("secret"))])
    }

    @Test("With a provider the carriers may be omitted, but not configured in part")
    func withoutCarriers() throws {
        let environment = ["LATCHKEY_API_KEYS": needed["LATCHKEY_API_KEYS"] ?? ""]
        let text = "providers: {acme: {\(Self.acme)}}"
        #expect(try load(text, environment: environment).configuration.zenkey.discoveryURL == nil)
        let half = problems(text, environment: environment.with("LATCHKEY_ZENKEY_CLIENTS", "a:b"))
        #expect(half.count == 1)
        #expect(half.first?.contains("zenkey.discovery_url") == true)
        #expect(problems("providers: {}", environment: environment).contains { $0.contains("it is empty") })
    }

    @Test("Providers can come from the variable or its file, and no secret is shown")
    func variable() throws {
        let json = #"{"acme":{"kind":"oidc","issuer":"https://acme.example","clients":[{"id":"c","secret":"s3"}]}}"#
        for (environment, files) in [
            (needed.with("LATCHKEY_PROVIDERS", json), [:]),
            (needed.with("LATCHKEY_PROVIDERS_FILE", "own"), ["own": json + "\n"]),
        ] {
            let loaded = try load("", environment: environment, files: files)
            #expect(loaded.configuration.providers.map(\.id) == ["acme"])
            let shown = ConfigurationReference.values(of: loaded.configuration).first { $0.key == "providers" }
            #expect(shown?.value == "acme (oidc)")
        }
        #expect(problems("", environment: needed.with("LATCHKEY_PROVIDERS", "{")).count == 1)
    }

    @Test(
        "An invalid provider is reported with the reason",
        arguments: [
            ("Acme: {\(acme)}", "is not the name of a provider"),
            ("zenkey: {\(acme)}", "is not the name of a provider"),
            ("a_b: {\(acme)}", "is not the name of a provider"),
            ("acme: yes", "is a single value, but it is a group of keys"),
            ("acme: {issuer: 'https://acme.example', clients: 'a:b'}", "has no kind"),
            ("acme: {kind: saml, issuer: 'https://acme.example', clients: 'a:b'}", "is not one of its words"),
            ("acme: {kind: oidc, clients: 'a:b'}", "has no issuer"),
            ("acme: {kind: oidc, issuer: 'http://acme.example', clients: 'a:b'}", "is plain http"),
            ("acme: {kind: oidc, issuer: 'https://acme.example?a=b', clients: 'a:b'}", "has a query"),
            ("acme: {kind: oidc, issuer: 'https://acme.example#a', clients: 'a:b'}", "is not a usable URL"),
            ("acme: {kind: oidc, issuer: 'https://acme.example ', clients: 'a:b'}", "has a space in the URL"),
            (
                "acme: {kind: oidc, issuer: 'https://acme.example/.well-known/openid-configuration', clients: 'a:b'}",
                "is the address of the metadata"
            ),
            ("acme: {kind: oidc, issuer: 'https://acme.example'}", "has no client_id, and no clients"),
            ("acme: {kind: oidc, issuer: 'https://acme.example', clients: [{id: c}]}", "has no secret"),
            ("acme: {kind: oidc, issuer: 'https://acme.example', clients: 'a:b', colour: red}", "there is no such key"),
            (
                "acme: {kind: oidc, issuer: 'https://acme.example', clients: [{id: c, secret: s, scopes: [email]}]}",
                "openid is missing"
            ),
        ])
    func wrong(_ text: String, _ reason: String) {
        let found = found(text)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(reason) == true, "\(found)")
        #expect(found.first?.contains("providers") == true, "\(found)")
    }

    @Test(
        "A setting of other kinds of provider is refused with their names",
        arguments: [ProviderKind.oidc, .oauth2, .camara, .firebasePNV])
    func otherKinds(_ kind: ProviderKind) {
        for setting in settings.ofProviders where !setting.kinds.contains(kind) {
            let key = setting.name.prefix { $0 != "." }
            let found = found("acme: {kind: \(kind.rawValue), \(key): x}")
            #expect(found.contains { $0.contains("acme.\(key): is a setting of kind") }, "\(key): \(found)")
        }
    }

    private static let oauth2 =
        "kind: oauth2, issuer: 'https://zoom.us', authorization_endpoint: 'https://zoom.us/oauth/authorize', "
        + "token_endpoint: 'https://zoom.us/oauth/token', user_endpoint: 'https://api.zoom.us/v2/users/me', subject: id"

    private static func without(_ setting: String) -> String { oauth2.replacing(setting, with: "") }

    @Test("A provider without ID tokens has configured endpoints, and no default scope")
    func withoutIDTokens() throws {
        let text = """
            zoom: {\(Self.oauth2), attributes: {name: display_name, email: data.mail}, response_mode: form_post,
            clients: [{id: a, secret: s}, {id: b, secret: s, scopes: [user:read]}]}
            """
        let provider = try #require(try load("providers: {\(text)}").configuration.providers.first)
        #expect(provider.kind == .oauth2)
        #expect(provider.rules.responseMode == .formPost)
        #expect(provider.endpoints?.authorization.text == "https://zoom.us/oauth/authorize")
        #expect(provider.endpoints?.token.text == "https://zoom.us/oauth/token")
        #expect(provider.endpoints?.user.url.text == "https://api.zoom.us/v2/users/me")
        #expect(provider.endpoints?.user.subject.text == "id")
        #expect(provider.userMembers.attributes.mapValues(\.text) == [.name: "display_name", .email: "data.mail"])
        #expect(provider.clients.map(\.scopes) == [[], ["user:read"]])
    }

    @Test("What a provider without ID tokens has of its own is read, and its clients send their secret in the request")
    func variations() throws {
        let text = """
            tiktok: {\(Self.oauth2), dialect: tiktok, clients: 'a:b', verified: {email: verified},
            emails_endpoint: 'https://zoom.us/emails', attributes: {email: data.0.mail}},
            other: {\(Self.oauth2.replacing("'https://zoom.us',", with: "'https://other.example',")), clients: 'a:b'}
            """
        let providers = try load("providers: {\(text)}").configuration.providers
        let (tiktok, other) = (try #require(providers.first), try #require(providers.last))
        #expect(tiktok.rules.dialect == .tiktok)
        #expect(tiktok.clients.map(\.authentication) == [.clientSecretPost(Secret("b"))])
        #expect(tiktok.userMembers.verified.mapValues(\.text) == [.email: "verified"])
        #expect(tiktok.endpoints?.user.emails?.text == "https://zoom.us/emails")
        #expect(other.rules.dialect == .standard)
        #expect(other.clients.map(\.authentication) == [.clientSecretBasic(Secret("b"))])
    }

    @Test(
        "An invalid provider without ID tokens is reported with the reason",
        arguments: [
            ("zoom: {kind: oauth2, issuer: 'https://zoom.us', clients: 'a:b'}", "has no authorization_endpoint"),
            (
                "zoom: {\(without("token_endpoint: 'https://zoom.us/oauth/token', ")), clients: 'a:b'}",
                "has no token_endpoint"
            ),
            (
                "zoom: {\(without("user_endpoint: 'https://api.zoom.us/v2/users/me', ")), clients: 'a:b'}",
                "has no user_endpoint"
            ),
            ("zoom: {\(without(", subject: id")), clients: 'a:b'}", "has no subject"),
            ("zoom: {\(oauth2), clients: [{secret: s}]}", "has no id"),
            ("zoom: {\(oauth2), clients: [{id: a, secret: s, nonce: issued}]}", "has nonce: issued"),
            ("zoom: {\(oauth2), clients: 'a:b', attributes: {shoe_size: x}}", "there is no such attribute"),
            ("zoom: {\(oauth2), clients: 'a:b', attributes: {name: 'a..b'}}", "is not the name of a member"),
            ("acme: {\(acme), dialect: wechat}", "dialect: is a setting of kind oauth2;"),
            ("zoom: {\(oauth2), clients: 'a:b', verified: {name: x}}", "there is no such attribute"),
            ("zoom: {\(oauth2), clients: 'a:b', dialect: wechatt}", "did you mean wechat?"),
            ("zoom: {\(oauth2), clients: [{id: a}], dialect: wechat}", "has no secret"),
            (
                "zoom: {\(oauth2), dialect: tiktok, "
                    + "clients: [{id: a, secret: b, token_endpoint_auth_method: client_secret_basic}]}",
                "has dialect: tiktok, and a client that authenticates"
            ),
            ("zoom: {\(oauth2), clients: 'a:b', backchannel_logout: off}", "is a setting of kind oidc;"),
            ("zoom: {\(oauth2), clients: 'a:b', id_token_hint: off}", "is a setting of kind oidc;"),
            ("acme: {\(acme), response_mode: fragment}", "is not one of its words"),
            (
                "zoom: {\(oauth2), clients: 'a:b'}, other: {kind: oidc, issuer: 'https://zoom.us', clients: 'a:b'}",
                "may also be the issuer of another provider"
            ),
            (
                "zoom: {\(oauth2.replacing("'https://zoom.us',", with: "'https://x.att.com',")), clients: 'a:b'}",
                "may also be the issuer of another provider"
            ),
        ])
    func wrongOAuth2(_ text: String, _ reason: String) {
        let found = found(text)
        #expect(found.contains { $0.contains(reason) && $0.contains("providers") }, "\(found)")
    }

    @Test("The types of ID tokens can be configured for the carriers and for each OpenID provider")
    func idTokenTypes() throws {
        let standard = try load("providers: {acme: {\(Self.acme)}}").configuration
        #expect(standard.zenkey.rules.idTokenTypes == [.jwt, .absent, .accessToken])
        #expect(standard.providers[0].idTokenTypes == [.jwt, .absent])
        let text =
            "zenkey: {id_token_types: [JWT]}\nproviders: {acme: {\(Self.acme), id_token_types: [absent, at+jwt]}}"
        let loaded = try load(text)
        #expect(loaded.configuration.zenkey.rules.idTokenTypes == [.jwt])
        #expect(loaded.configuration.providers[0].idTokenTypes == [.absent, .accessToken])
        let environment = needed.with("LATCHKEY_ZENKEY_ID_TOKEN_TYPES", "JWT, at+jwt")
        #expect(
            try load(environment: environment).configuration.zenkey.rules.idTokenTypes == [
                .jwt, .accessToken,
            ])
        let warnings = loaded.warnings.filter { $0.key.hasSuffix("id_token_types") }
        #expect(warnings.map(\.key) == ["providers.acme.id_token_types"])
        let ofZenKey = try load("zenkey: {id_token_types: [at+jwt]}").warnings
        #expect(!ofZenKey.contains { $0.key.hasSuffix("id_token_types") })
    }

    @Test("Pushed authorization requests are a setting of the carriers and of each OpenID provider")
    func pushedRequests() throws {
        let standard = try load("providers: {acme: {\(Self.acme)}}").configuration
        #expect(standard.zenkey.rules.extensions.pushedAuthorizationRequests == .auto)
        #expect(standard.providers[0].extensions.pushedAuthorizationRequests == .auto)
        let set = try load("zenkey: {par: never}\nproviders: {acme: {\(Self.acme), par: always}}").configuration
        #expect(set.zenkey.rules.extensions.pushedAuthorizationRequests == .never)
        #expect(set.providers[0].extensions.pushedAuthorizationRequests == .always)
        let environment = needed.with("LATCHKEY_ZENKEY_PAR", "always")
        #expect(
            try load(environment: environment).configuration.zenkey.rules.extensions.pushedAuthorizationRequests
                == .always)
    }

    @Test("Tokens bound to a key are a setting of the carriers and of each OpenID provider")
    func dpop() throws {
        let standard = try load("providers: {acme: {\(Self.acme)}}").configuration
        #expect(standard.zenkey.rules.extensions.dpop == .auto)
        #expect(standard.providers[0].extensions.dpop == .auto)
        let set = try load("zenkey: {dpop: never}\nproviders: {acme: {\(Self.acme), dpop: always}}").configuration
        #expect(set.zenkey.rules.extensions.dpop == .never)
        #expect(set.providers[0].extensions.dpop == .always)
        let environment = needed.with("LATCHKEY_ZENKEY_DPOP", "always")
        #expect(try load(environment: environment).configuration.zenkey.rules.extensions.dpop == .always)
    }

    @Test(
        "Pushed authorization requests and bound tokens that cannot be are refused",
        arguments: [
            ("zenkey: {par: sometimes}", "is not one of its words"),
            ("providers: {acme: {\(acme), par: true}}", "is not one of its words"),
            ("providers: {zoom: {\(oauth2), clients: 'a:b', par: auto}}", "par: is a setting of kind oidc or camara;"),
            ("zenkey: {dpop: sometimes}", "is not one of its words"),
            (
                "providers: {zoom: {\(oauth2), clients: 'a:b', dpop: auto}}",
                "dpop: is a setting of kind oidc or camara;"
            ),
            (
                "zenkey: {par: always, authorization_url: 'https://discoveryui.myzenkey.com/v1/auth'}",
                "zenkey.authorization_url"
            ),
        ])
    func wrongPushedRequests(_ text: String, _ reason: String) {
        let found = problems(text)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(reason) == true, "\(found)")
    }

    @Test("Requests are signed if the metadata requires it, unless the setting says otherwise")
    func signedRequests() throws {
        let standard = try load("providers: {acme: {\(Self.acme)}}").configuration
        #expect(standard.zenkey.rules.extensions.signedRequestObjects == .auto)
        #expect(standard.providers[0].extensions.signedRequestObjects == .auto)
        let text = """
            zenkey: {request_object: always, clients: [{id: a, private_key_file: key}]}
            providers:
              acme: {kind: oidc, issuer: 'https://acme.example', request_object: never, clients: 'a:b'}
            """
        let environment = needed.with("LATCHKEY_ZENKEY_CLIENTS", nil)
        let set = try load(text, environment: environment, files: ["key": Self.key]).configuration
        #expect(set.zenkey.rules.extensions.signedRequestObjects == .always)
        #expect(set.providers[0].extensions.signedRequestObjects == .never)
    }

    @Test(
        "Signed requests that cannot be are refused",
        arguments: [
            ("zenkey: {request_object: sometimes}", "is not one of its words"),
            ("zenkey: {request_object: always}", "has no private_key to sign with"),
            ("providers: {acme: {\(acme), request_object: always}}", "has no private_key to sign with"),
            (
                "providers: {zoom: {\(oauth2), clients: 'a:b', request_object: auto}}",
                "request_object: is a setting of kind oidc or camara;"
            ),
            (
                "zenkey: {request_object: always, authorization_url: 'https://discoveryui.myzenkey.com/v1/auth', "
                    + "clients: [{id: a, private_key_file: key}]}", "zenkey.authorization_url"
            ),
        ])
    func wrongSignedRequests(_ text: String, _ reason: String) {
        let hasClients = text.hasPrefix("zenkey: {") && text.contains("clients: [")
        let environment = hasClients ? needed.with("LATCHKEY_ZENKEY_CLIENTS", nil) : needed
        let found = problems(text, environment: environment, files: ["key": Self.key])
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(reason) == true, "\(found)")
    }

    @Test("Authorization responses may have to name their issuer")
    func requiredIssuer() throws {
        for (text, isRequired) in [("", nil), (", require_iss: false", false), (", require_iss: true", true)] {
            for provider in [Self.acme, Self.oauth2 + ", clients: 'a:b'"] {
                #expect(
                    try load("providers: {acme: {\(provider)\(text)}}").configuration.providers[0].rules.requiresIssuer
                        == isRequired)
            }
        }
    }

    @Test(
        "A build without its feature refuses a key that asks for it",
        arguments: [
            ("backchannel_token_delivery_mode: poll", "backchannel_token_delivery_mode", "Backchannel"),
            ("store_tokens: true", "store_tokens", "ProviderResources"),
            ("native_audiences: [a]", "native_audiences", "NativeSignIn"),
        ])
    func lackingFeature(text: String, key: String, trait: String) {
        let unmet = problems("providers: {acme: {\(Self.acme), \(text)}}", of: FeatureList.none.settings)
        #expect(
            unmet.contains { $0.hasPrefix("providers.acme.\(key): needs the feature \(trait), ") }, "\(unmet)")
    }

    @Test("A third party may initiate sign-ins of one client, where that can be")
    func loginInitiation() throws {
        #expect(
            try load("providers: {acme: {\(Self.acme)}}").configuration.providers[0].rules.loginInitiationClient == nil)
        func text(_ provider: String, _ uris: String, _ id: String = "a") -> String {
            "providers: {acme: {\(provider), initiate_login_client: \(id), "
                + "clients: [{id: a, secret: b, redirect_uris: [\(uris)]}]}}"
        }
        let oidc = "kind: oidc, issuer: 'https://acme.example'"
        let loaded = try load(text(oidc, "'com.example.app:/in', 'https://web.example/'"))
        #expect(loaded.configuration.providers[0].rules.loginInitiationClient?.text == "a")
        let unmet = problems(text(oidc, "'https://web.example/'"), of: FeatureList.none.settings)
        #expect(
            unmet.count == 1
                && unmet[0].hasPrefix("providers.acme.initiate_login_client: needs the feature Redirects, "), "\(unmet)"
        )
        for (text, reason) in [
            (text(oidc, "'https://web.example/'", "b"), "it has no client b"),
            (text(oidc, "'com.example.app:/in'"), "a has no redirect URI for web"),
            (text(oidc, ""), "a has no redirect URI for web"),
            (text(Self.oauth2, "'https://web.example/'"), "initiate_login_client: is a setting of kind oidc;"),
        ] {
            let found = problems(text)
            #expect(found.count == 1, "\(found)")
            #expect(found.first?.contains(reason) == true, "\(found)")
        }
    }

    @Test(
        "A client assertion is for the issuer of an OpenID provider, unless configured otherwise",
        arguments: [
            ("oidc", "", ClientAssertionAudience.issuer), ("oidc", "issuer", .issuer),
            ("oidc", "token_endpoint", .tokenEndpoint), ("oidc", "endpoint", .endpoint), ("oauth2", "", .tokenEndpoint),
            ("oauth2", "issuer", .issuer),
        ])
    func assertionAudience(_ kind: String, _ setting: String, _ expected: ClientAssertionAudience) throws {
        let provider = kind == "oidc" ? "kind: oidc, issuer: 'https://acme.example'" : Self.oauth2
        let audience = setting.isEmpty ? "" : ", assertion_audience: \(setting)"
        let method = "token_endpoint_auth_method: private_key_jwt"
        let client = "clients: [{id: a, private_key_file: key, \(method)\(audience)}]"
        let loaded = try load("providers: {acme: {\(provider), \(client)}}", files: ["key": Self.key])
        let key = try ClientKey(parsing: Secret(Self.key))
        #expect(
            loaded.configuration.providers[0].clients[0].authentication == .privateKeyJWT(key, audience: expected))
    }

    @Test("Authorization responses may have to be signed, with the client's algorithm")
    func signedResponses() throws {
        for (text, mode, algorithm) in [
            ("", AuthorizationResponseMode.query, SigningAlgorithm.rs256), (", response_mode: jwt", .jwt, .rs256),
            (", response_mode: query.jwt", .queryJWT, .rs256), (", response_mode: form_post.jwt", .formPostJWT, .rs256),
        ] {
            let provider = try load("providers: {acme: {\(Self.acme)\(text)}}").configuration.providers[0]
            #expect(provider.rules.responseMode == mode)
            #expect(provider.clients[0].responseSigningAlgorithm == algorithm)
        }
        let client = "clients: [{id: a, secret: b, authorization_signed_response_alg: ES256}]"
        let text = "providers: {acme: {kind: oidc, issuer: 'https://acme.example', \(client)}}"
        #expect(try load(text).configuration.providers[0].clients[0].responseSigningAlgorithm == .es256)
        for (text, reason) in [
            ("providers: {acme: {\(Self.acme), response_mode: fragment.jwt}}", "is not one of its words"),
            ("providers: {zoom: {\(Self.oauth2), clients: 'a:b', response_mode: jwt}}", "names the keys"),
            (
                "providers: {acme: {kind: oidc, issuer: 'https://acme.example', "
                    + "clients: [{id: a, secret: b, authorization_signed_response_alg: none}]}}",
                "is not one of its words"
            ),
        ] {
            let found = problems(text)
            #expect(found.count == 1 && found.first?.contains(reason) == true, "\(found)")
        }
    }

    @Test(
        "Unusable types of ID tokens are refused",
        arguments: [
            ("zenkey: {id_token_types: [logout+jwt]}", "is not one of its words"),
            ("zenkey: {id_token_types: [jwt]}", "did you mean JWT?"), ("zenkey: {id_token_types: []}", "is empty"),
            ("providers: {acme: {\(acme), id_token_types: []}}", "is empty"),
            (
                "providers: {zoom: {\(oauth2), clients: 'a:b', id_token_types: [JWT]}}",
                "id_token_types: is a setting of kind oidc or camara;"
            ),
        ])
    func wrongIDTokenTypes(_ text: String, _ reason: String) {
        let found = problems(text)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(reason) == true, "\(found)")
    }

    @Test(
        "A client's algorithm can be configured, for carriers and for OpenID providers",
        arguments: SigningAlgorithm.allCases)
    func signingAlgorithm(_ algorithm: SigningAlgorithm) throws {
        let member = "id_token_signed_response_alg: \(algorithm.rawValue)"
        let client = "{id: a, secret: s, redirect_uris: ['a.b:/c'], \(member)}"
        let issuer = "kind: oidc, issuer: 'https://acme.example'"
        let loaded = try load(
            "zenkey: {clients: [\(client)]}\nproviders: {acme: {\(issuer), clients: [\(client)]}}",
            environment: needed.filter { $0.key != "LATCHKEY_ZENKEY_CLIENTS" }
        ).configuration
        #expect(loaded.zenkey.clients[0].signingAlgorithms == [algorithm])
        #expect(loaded.providers[0].clients[0].signingAlgorithms == [algorithm])
        let standard = try load("providers: {acme: {\(Self.acme)}}").configuration
        #expect(standard.providers[0].clients[0].signingAlgorithms == [.rs256, .es256])
    }

    @Test(
        "Algorithms that are none for ID tokens are refused",
        arguments: [
            ("kind: oidc, issuer: 'https://acme.example'", "HS256", "is not one of its words"),
            ("kind: oidc, issuer: 'https://acme.example'", "none", "is not one of its words"),
            ("kind: oidc, issuer: 'https://acme.example'", "rs256", "did you mean RS256?"),
            (oauth2, "RS256", "is a setting of kind zenkey or oidc;"),
        ])
    func wrongSigningAlgorithm(_ provider: String, _ algorithm: String, _ reason: String) {
        let client = "{id: a, secret: s, redirect_uris: ['a.b:/c'], id_token_signed_response_alg: \(algorithm)}"
        let found = problems("providers: {acme: {\(provider), clients: [\(client)]}}")
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(reason) == true, "\(found)")
    }

    @Test("A client of an oauth2 provider may be public, and a missing secret causes a warning")
    func publicClients() throws {
        func load(_ members: String) throws -> LoadedConfiguration {
            try LatchkeyConfigurationTests.load(
                "providers: {zoom: {\(Self.oauth2), clients: [{id: a, redirect_uris: ['a.b:/c']\(members)}]}}")
        }
        let implicit = try load("")
        #expect(implicit.configuration.providers[0].clients[0].authentication == .publicClient)
        #expect(implicit.warnings.contains { $0.reason.contains("is a public client") })
        let explicit = try load(", token_endpoint_auth_method: none")
        #expect(explicit.configuration.providers[0].clients[0].authentication == .publicClient)
        #expect(!explicit.warnings.contains { $0.reason.contains("public client") })
        let secret = try load(", secret: s")
        #expect(secret.configuration.providers[0].clients[0].authentication == .clientSecretBasic(Secret("s")))
    }

    @Test(
        "A public client needs PKCE and has no secret",
        arguments: [
            ("providers: {zoom: {\(oauth2), clients: [{id: a, pkce: optional}]}}", "neither a secret nor PKCE"),
            (
                "providers: {zoom: {\(oauth2), clients: [{id: a, secret: s, token_endpoint_auth_method: none}]}}",
                "has a secret or a key"
            ),
            (
                "providers: {zoom: {\(oauth2), clients: [{id: a, token_endpoint_auth_method: client_secret_post}]}}",
                "has no secret"
            ),
            (
                "providers: {acme: {kind: oidc, issuer: 'https://acme.example', pkce: 'off', "
                    + "clients: [{id: c, token_endpoint_auth_method: none}]}}", "anyone could redeem its codes"
            ),
            ("providers: {acme: {kind: oidc, issuer: 'https://acme.example', clients: [{id: c}]}}", "has no secret"),
        ])
    func wrongPublicClients(_ text: String, _ reason: String) {
        let found = problems(text)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(reason) == true, "\(found)")
    }

    @Test("A client of the carriers is not public")
    func carriersNeedSecrets() {
        let text = "zenkey: {clients: [{id: a, token_endpoint_auth_method: none}]}"
        let found = problems(text, environment: needed.with("LATCHKEY_ZENKEY_CLIENTS", nil))
        #expect(found.count == 1 && found.first?.contains("for providers of kind oidc or oauth2") == true, "\(found)")
    }

    @Test("Port tokens must have their type unless configured otherwise, which causes a warning")
    func portTokenTypes() throws {
        #expect(try load().configuration[PortTokenRules.self].requiresType)
        let loaded = try load("zenkey: {port_tokens: {require_type: false}}")
        #expect(!loaded.configuration[PortTokenRules.self].requiresType)
        #expect(loaded.warnings.contains { $0.key == "zenkey.port_tokens.require_type" })
        let environment = needed.with("LATCHKEY_ZENKEY_PORT_TOKENS_REQUIRE_TYPE", "false")
        #expect(try !load(environment: environment).configuration[PortTokenRules.self].requiresType)
    }

    /// A P-256 key made for this test and used nowhere else.
    private static let key = #"""
        {"kty":"EC","crv":"P-256","kid":"own","d":"USHZapk4fiSRMarUeVjMOmKESjszdD3BtVP65REiXt8",
        "x":"D67sPWhnvUtA0zb_Hnk6uxuw3FMq69gXHi46qUWPYMg","y":"-k_OcJs72mCNucyoAAwSAlgTBGqpEy20BYsBObTtLpI"}
        """#

    @Test("A client secret can be a signed JWT, which excludes other authentication methods")
    func signedSecret() throws {
        func text(_ more: String) -> String {
            "providers: {apple: {kind: oidc, issuer: 'https://appleid.apple.com', clients: [{id: a, \(more)}]}}"
        }
        let members = "private_key_file: key, private_key_id: K1, signed_secret: {issuer: TEAM1"
        let audience = ", audience: 'https://appleid.apple.com'}"
        let client = try load(text(members + audience), files: ["key": Self.key]).configuration.providers[0].clients[0]
        let key = try ClientKey(parsing: Secret(Self.key)).named("K1")
        #expect(
            client.authentication
                == .signedClientSecret(key, issuer: "TEAM1", audience: "https://appleid.apple.com"))
        for (more, reason) in [
            (members + "}", "lacks a part of its signed_secret"),
            ("signed_secret: {issuer: T\(audience)", "lacks a part of its signed_secret"),
            (members + audience + ", secret: s", "another way to authenticate"),
            (members + audience + ", token_endpoint_auth_method: private_key_jwt", "another way to authenticate"),
        ] {
            let found = problems(text(more), files: ["key": Self.key])
            #expect(found.count == 1)
            #expect(found.first?.contains(reason) == true, "\(found)")
        }
    }

    @Test("A client without redirect URIs, and a secret in a world-readable file, cause warnings")
    func warnings() throws {
        let text = "providers: {acme: {kind: oidc, issuer: 'https://acme.example', clients: 'c:s'}}"
        #expect(
            try load(text).warnings.contains { $0.key == "providers" && $0.reason.contains("no sign-in by redirect") })
        #expect(try !load("providers: {acme: {\(Self.acme)}}").warnings.contains { $0.key == "providers" })
        let open = try load("providers: {acme: {\(Self.acme)}}", readableByAll: true).warnings
        #expect(open.contains { $0.key == "providers" && $0.reason.contains("every user of this machine") })
    }
}

@Suite("The configuration of providers that store tokens")
struct TokenStorageConfigurationTests {
    private static let zoom =
        "kind: oauth2, issuer: 'https://zoom.us', authorization_endpoint: 'https://zoom.us/oauth/authorize', "
        + "token_endpoint: 'https://zoom.us/oauth/token', user_endpoint: 'https://api.zoom.us/v2/users/me', "
        + "subject: id, clients: [{id: a, secret: s, redirect_uris: ['a.b:/c']}]"
    private static let key = String(repeating: "0a", count: 32)
    private static let zak = "{url: 'https://api.zoom.us/v2/users/me/token?type=zak'}"

    @Test("A provider has resources; encryption keys come from the variable or its file and are not shown")
    func resources() throws {
        let text =
            "providers: {zoom: {\(Self.zoom), store_tokens: true, resources: {zak: \(Self.zak), me_2-x: \(Self.zak)}}}"
        for (environment, files) in [
            (needed.with("LATCHKEY_ENCRYPTION_KEYS", "\(Self.key),\(Self.key)"), [:]),
            (needed.with("LATCHKEY_ENCRYPTION_KEYS_FILE", "own"), ["own": "\(Self.key)\n\(Self.key)\n"]),
        ] {
            let configuration = try load(text, environment: environment, files: files).configuration
            let provider = try #require(configuration.providers.first)
            #expect(provider.rules.storesTokens)
            #expect(
                provider.rules.resources.mapValues(\.text)["zak"] == "https://api.zoom.us/v2/users/me/token?type=zak")
            #expect(Set(provider.rules.resources.keys) == ["zak", "me_2-x"])
            let key = try #require(EncryptionKey(Array(repeating: 10, count: 32)))
            #expect(configuration.vaultKeys.map(\.id) == [key.id, key.id])
            let shown = ConfigurationReference.values(of: configuration).first { $0.key == "encryption_keys" }
            #expect(shown?.value == "‹redacted›,‹redacted›")
        }
        #expect(try !load("providers: {zoom: {\(Self.zoom)}}").configuration.providers[0].rules.storesTokens)
    }

    @Test("store_tokens requires an encryption key when serving, and the problem has a remedy")
    func keyMissing() throws {
        let text = "providers: {zoom: {\(Self.zoom), store_tokens: true}}"
        let found = problems(text, environment: needed)
        #expect(found.count == 1)
        #expect(found.first?.contains("is missing; providers.zoom has store_tokens") == true, "\(found)")
        #expect(found.first?.contains("LATCHKEY_ENCRYPTION_KEYS_FILE") == true)
        #expect(found.first?.contains("openssl rand -hex 32") == true)
        let empty = problems(text + "\nencryption_keys: []", environment: needed)
        #expect(empty.count == 1)
        let bad = problems(text + "\nencryption_keys: [HIDDEN]", environment: needed)
        #expect(bad.count == 1)
        #expect(bad.first?.contains("is not a key") == true)
        #expect(bad.first?.contains("HIDDEN") == false)
        for purpose in [ConfigurationLoader.Purpose.demo, .operation] {
            #expect(try load(text, purpose: purpose).configuration.providers[0].rules.storesTokens)
        }
    }

    @Test(
        "An invalid resource is reported with the reason",
        arguments: [
            ("resources: {zak: \(zak)}", "stores no tokens to fetch them with"),
            ("store_tokens: maybe", "store_tokens"),
            ("store_tokens: true, resources: [zak]", "is a list"),
            ("store_tokens: true, resources: {Zak: \(zak)}", "is not the name of a resource"),
            ("store_tokens: true, resources: {'a/b': \(zak)}", "is not the name of a resource"),
            ("store_tokens: true, resources: {zak: 'https://api.zoom.us/'}", "is a single value"),
            ("store_tokens: true, resources: {zak: {}}", "has no url"),
            ("store_tokens: true, resources: {zak: {url: 'https://a.example/', method: POST}}", "there is no such key"),
            ("store_tokens: true, resources: {zak: {url: 'http://a.example/'}}", "is plain http"),
            ("store_tokens: true, resources: {zak: {url: 'http://127.0.0.1/'}}", "is plain http"),
            (
                "store_tokens: true, resources: {zak: {url: 'https://u:p@a.example/'}}",
                "is not a usable URL"
            ),
        ])
    func wrong(_ text: String, _ reason: String) {
        let environment = needed.with("LATCHKEY_ENCRYPTION_KEYS", Self.key)
        let found = problems("providers: {zoom: {\(Self.zoom), \(text)}}", environment: environment)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(reason) == true, "\(found)")
    }

    @Test("The example in docs/providers.md is a valid configuration that stores tokens")
    func documented() throws {
        let contents = try FileReader.system.contents(of: Repository.path("docs/providers.md"), limit: 1 << 20)
        let text = try #require(String(validating: contents.bytes, as: UTF8.self))
        let shown = text.split(separator: "```").map(String.init).first {
            $0.hasPrefix("yaml\n") && $0.contains("store_tokens")
        }
        let configuration = try load(
            String(try #require(shown).dropFirst("yaml\n".count)),
            files: ["encryption-keys": Self.key + "\n", "zoom-secret": "s"]
        ).configuration
        #expect(configuration.vaultKeys.count == 1)
        let provider = try #require(configuration.providers.first)
        #expect(provider.id == "zoom" && provider.rules.storesTokens)
        #expect(provider.rules.resources.mapValues(\.text) == ["zak": "https://api.zoom.us/v2/users/me/token?type=zak"])
        #expect(provider.endpoints?.token.text == "https://zoom.us/oauth/token")
    }

    @Test("Client types are read by redirect URI, and must fit the redirect URIs")
    func clientTypes() throws {
        let client = "id: c, secret: s, redirect_uris: ['https://a.example/', 'b.c:/d']"
        func text(_ members: String) -> String {
            "providers: {acme: {kind: oidc, issuer: 'https://acme.example', clients: [{\(client)\(members)}]}}"
        }
        let plain = try load(text("")).configuration.providers[0].clients[0]
        #expect(plain.clientTypes.isEmpty)
        #expect(!plain.requiresCodeChallenge)
        let loaded = try load(
            text(", client_types: {'https://a.example/': [ios, web], 'b.c:/d': android}, require_code_challenge: true"))
        let found = loaded.configuration.providers[0].clients[0]
        #expect(found.clientTypes == ["https://a.example/": [.ios, .web], "b.c:/d": [.android]])
        #expect(found.requiresCodeChallenge)
        for (types, isUnsafe) in [("ios, web", true), ("web, spa", true), ("web, popup", false), ("spa, popup", false)]
        {
            let warnings = try load(text(", client_types: {'https://a.example/': [\(types)]}")).warnings
            #expect(warnings.contains { $0.description.contains("session_id in the address") } == isUnsafe, "\(types)")
        }
        let refused = [
            (", client_types: {'https://b.example/': [web]}", "that its redirect_uris do not list"),
            (", client_types: {'https://a.example/': []}", "has no client_types for https://a.example/"),
            (", client_types: {'b.c:/d': [popup]}", "which has no origin"),
            (", client_types: {'https://a.example/': [tv]}", "tv is not one of its words"),
            (", client_types: {'a': [web]}", "is not an absolute URI"), (", client_types: [web]", "give a group of"),
        ]
        for (members, reason) in refused {
            let found = problems(text(members))
            #expect(found.count == 1 && found.first?.contains(reason) == true, "\(members): \(found)")
        }
    }
}
