import Crypto
import Examination
import Foundation
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import PhoneVerification
import Primitives
import SignIn
import TestSupport
import Testing
import Zephr

/// `latchkey client-metadata`.
struct ClientMetadataTests {
    /// A setting, and the members that it adds to those of a client without any; nil removes one.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let members: [String: String?]
        let change: @Sendable (inout Configuration) throws -> Void

        init(
            _ name: String, _ members: [String: String?],
            _ change: @escaping @Sendable (inout Configuration) throws -> Void
        ) {
            testDescription = name
            self.members = members
            self.change = change
        }
    }

    private static let base = "https://login.example/base"
    private static let secret = "s3cret-of-the-client"

    private static func configuration() throws -> Configuration {
        var configuration = Configuration()
        configuration.publicURL = EndpointURL(base + "/", policy: .httpsOnly)
        let issuer = try #require(EndpointURL("https://acme.example", policy: .httpsOnly))
        var client = Configuration.Client(id: try #require(ClientID("client-1")), secret: Secret(secret))
        client.redirectURIs = ["https://web.example/done", "com.example.app:/done"]
        configuration.providers = [.init(id: "acme", issuer: issuer, clients: [client])]
        return configuration
    }

    /// The members for a client without further settings, as JSON texts.
    private static let usual = [
        "client_id": #""client-1""#, "application_type": #""web""#,
        "redirect_uris": #"["\#(base)/auth/acme/callback"]"#, "response_types": #"["code"]"#,
        "grant_types": #"["authorization_code"]"#, "token_endpoint_auth_method": #""client_secret_basic""#,
        "id_token_signed_response_alg": #""RS256""#,
        "backchannel_logout_uri": #""\#(base)/auth/acme/backchannel-logout""#,
        "backchannel_logout_session_required": "false",
        "post_logout_redirect_uris": #"["\#(base)/auth/acme/logged-out"]"#,
    ]

    private static func members(
        _ configuration: Configuration, client: String? = nil, at provider: String? = "acme",
        features: FeatureList = .standard
    ) throws -> [String: String] {
        let json = try ClientMetadata.json(of: client, at: provider, in: configuration, features: features)
        #expect(!json.contains(secret))
        let object = try #require(try JSONValue(parsing: Array(json.utf8)).object)
        return Dictionary(uniqueKeysWithValues: object.members.map { ($0.name, $0.value.text) })
    }

    private static let key = P256.Signing.PrivateKey().pemRepresentation
    private static func signingKey() throws -> ClientKey { try ClientKey(parsing: Secret(key)).named("k-1") }
    private static func certificate() throws -> ClientTLS {
        let moment = Timestamp(secondsSinceEpoch: 0)
        return ClientTLS(
            try #require(
                TLSClientCertificate(
                    chain: Array(TLSTexts.clientCertificate.utf8), privateKey: Secret(TLSTexts.clientKey),
                    subject: "CN=a,O=b", validity: moment...moment, isSelfIssued: false)))
    }

    private static let keySet = #""\#(base)/.well-known/jwks.json""#

    static let rows: [Row] = [
        Row("nothing", [:]) { _ in },
        Row(
            "tls_client_auth",
            [
                "token_endpoint_auth_method": #""tls_client_auth""#, "tls_client_auth_subject_dn": #""CN=a,O=b""#,
                "tls_client_certificate_bound_access_tokens": "true",
            ]
        ) {
            $0.providers[0].clients[0].authentication = .tlsClientAuth(try certificate())
            $0.providers[0].extensions.mutualTLS = .always
        },
        Row(
            "self_signed_tls_client_auth",
            ["token_endpoint_auth_method": #""self_signed_tls_client_auth""#, "jwks_uri": keySet]
        ) {
            $0.providers[0].clients[0].authentication = .selfSignedTLSClientAuth(try certificate())
        },
        Row("client_secret_post", ["token_endpoint_auth_method": #""client_secret_post""#]) {
            $0.providers[0].clients[0].authentication = .clientSecretPost(Secret(secret))
        },
        Row(
            "CIBA in the mode poll",
            [
                "grant_types": #"["authorization_code","urn:openid:params:grant-type:ciba"]"#,
                "backchannel_token_delivery_mode": #""poll""#,
            ]
        ) { $0.providers[0].rules.backchannelTokenDelivery = .poll },
        Row(
            "CIBA in the mode ping, with a key",
            [
                "grant_types": #"["authorization_code","urn:openid:params:grant-type:ciba"]"#,
                "backchannel_token_delivery_mode": #""ping""#,
                "backchannel_client_notification_endpoint": #""\#(base)/auth/acme/backchannel/notification""#,
                "backchannel_authentication_request_signing_alg": #""ES256""#, "jwks_uri": keySet,
                "request_object_signing_alg": #""ES256""#,
            ]
        ) {
            $0.providers[0].rules.backchannelTokenDelivery = .ping
            $0.providers[0].clients[0].signingKey = try signingKey()
        },
        Row("a public client", ["token_endpoint_auth_method": #""none""#]) {
            $0.providers[0].clients[0].authentication = .publicClient
        },
        Row(
            "private_key_jwt",
            [
                "token_endpoint_auth_method": #""private_key_jwt""#, "token_endpoint_auth_signing_alg": #""ES256""#,
                "jwks_uri": keySet, "request_object_signing_alg": #""ES256""#,
            ]
        ) {
            $0.providers[0].clients[0].authentication = .privateKeyJWT(try signingKey())
            $0.providers[0].clients[0].signingKey = try signingKey()
        },
        Row("a key, and request_object: never", ["jwks_uri": keySet]) {
            $0.providers[0].clients[0].signingKey = try signingKey()
            $0.providers[0].extensions.signedRequestObjects = .never
        },
        Row(
            "request_object: always",
            [
                "jwks_uri": keySet, "request_object_signing_alg": #""ES256""#, "require_signed_request_object": "true",
            ]
        ) {
            $0.providers[0].clients[0].signingKey = try signingKey()
            $0.providers[0].extensions.signedRequestObjects = .always
        },
        Row("id_token_signed_response_alg", ["id_token_signed_response_alg": #""PS256""#]) {
            $0.providers[0].clients[0].idTokenSigningAlgorithm = .ps256
        },
        Row("a profile", ["id_token_signed_response_alg": #""PS256""#]) {
            $0.providers[0].clients[0].usualSigningAlgorithms = SecurityProfile.signingAlgorithms
        },
        Row("a profile, and ES256", ["id_token_signed_response_alg": #""ES256""#]) {
            $0.providers[0].clients[0].usualSigningAlgorithms = SecurityProfile.signingAlgorithms
            $0.providers[0].clients[0].idTokenSigningAlgorithm = .es256
        },
        Row("userinfo_signed_response_alg", ["userinfo_signed_response_alg": #""ES256""#]) {
            $0.providers[0].clients[0].userInfoSigningAlgorithm = .es256
        },
        Row(
            "id_token_encrypted_response_alg",
            [
                "jwks_uri": keySet, "id_token_encrypted_response_alg": #""ECDH-ES""#,
                "id_token_encrypted_response_enc": #""A256GCM""#,
            ]
        ) {
            $0.providers[0].clients[0].idTokenDecryption = ResponseDecryption(
                key: try DecryptionKey(parsing: Secret(key)), encryption: .a256GCM)
        },
        Row(
            "userinfo_encrypted_response_alg",
            [
                "jwks_uri": keySet, "userinfo_encrypted_response_alg": #""ECDH-ES""#,
                "userinfo_encrypted_response_enc": #""A128GCM""#,
            ]
        ) {
            $0.providers[0].clients[0].userInfoDecryption = ResponseDecryption(
                key: try DecryptionKey(parsing: Secret(key)), encryption: .a128GCM)
        },
        Row("response_mode: jwt", ["authorization_signed_response_alg": #""RS256""#]) {
            $0.providers[0].rules.responseMode = .jwt
        },
        Row("response_mode: form_post", [:]) { $0.providers[0].rules.responseMode = .formPost },
        Row("par: always", ["require_pushed_authorization_requests": "true"]) {
            $0.providers[0].extensions.pushedAuthorizationRequests = .always
        },
        Row("initiate_login_client", ["initiate_login_uri": #""\#(base)/auth/acme/initiate-login""#]) {
            $0.providers[0].rules.loginInitiationClient = ClientID("client-1")
        },
        Row("initiate_login_client: another", [:]) {
            $0.providers[0].rules.loginInitiationClient = ClientID("client-2")
        },
        Row("dpop: always", ["dpop_bound_access_tokens": "true"]) { $0.providers[0].extensions.dpop = .always },
        Row("store_tokens", ["grant_types": #"["authorization_code","refresh_token"]"#]) {
            $0.providers[0].rules.storesTokens = true
        },
        Row(
            "backchannel_logout: off", ["backchannel_logout_uri": nil, "backchannel_logout_session_required": nil]
        ) { $0.providers[0].rules.endsSessions = false },
        Row(
            "kind: oauth2",
            [
                "backchannel_logout_uri": nil, "backchannel_logout_session_required": nil,
                "post_logout_redirect_uris": nil, "id_token_signed_response_alg": nil,
            ]
        ) { $0.providers[0].kind = .oauth2 },
        Row(
            "compat.zephr",
            [
                "redirect_uris": "[\"\(base)/auth/acme/callback\","
                    + ["zephr", "blaize"].flatMap { prefix in
                        ["web", "ios", "android", "popup"].map {
                            "\"\(base)/\(prefix)/oauth/acme/\($0)/callback\""
                        }
                    }.joined(separator: ",") + "]"
            ]
        ) { $0[ZephrSettings.self].isEnabled = true },
    ]

    @Test("Each setting adds its own members, and no secret", arguments: rows)
    func golden(row: Row) throws {
        var configuration = try Self.configuration()
        try row.change(&configuration)
        var expected = Self.usual
        for (name, value) in row.members { expected[name] = value }
        #expect(try Self.members(configuration) == expected)
    }

    @Test(
        "What is registered for ID tokens is accepted of them",
        arguments: [nil, .fapi2, .fapi2MessageSigning] as [SecurityProfile?])
    func registeredAlgorithm(_ profile: SecurityProfile?) throws {
        var configuration = try Self.configuration()
        if profile != nil {
            configuration.providers[0].clients[0].usualSigningAlgorithms = SecurityProfile.signingAlgorithms
        }
        let printed = try #require(try Self.members(configuration)["id_token_signed_response_alg"])
        let algorithm = try #require(SigningAlgorithm(rawValue: printed.replacing("\"", with: "")))
        #expect(configuration.providers[0].clients[0].signingAlgorithms.contains(algorithm))
    }

    @Test("A build without features has no redirect, no logout and no backchannel authentication")
    func core() throws {
        var configuration = try Self.configuration()
        configuration.providers[0].rules.backchannelTokenDelivery = .ping
        configuration.providers[0].rules.loginInitiationClient = ClientID("client-1")
        let members = try Self.members(configuration, features: .none)
        #expect(members["client_id"] != nil)
        #expect(
            members.keys.allSatisfy { name in
                !["redirect", "logout", "backchannel", "initiate"].contains { name.contains($0) }
            })
    }

    @Test("The carriers' client has the carriers' callback, and no logout")
    func carriers() throws {
        var configuration = try Self.configuration()
        configuration.zenkey.discoveryURL = EndpointURL("https://discovery.example/x", policy: .httpsOnly)
        configuration.zenkey.clients = configuration.providers[0].clients
        let members = try Self.members(configuration, at: "zenkey")
        #expect(members["redirect_uris"] == #"["\#(Self.base)/auth/zenkey/callback"]"#)
        #expect(members["backchannel_logout_uri"] == nil && members["post_logout_redirect_uris"] == nil)
    }

    @Test("Telco Finder's client gets tokens for itself only, with a scope and no redirect URI")
    func telcoFinder() throws {
        var configuration = try Self.configuration()
        let root = try #require(EndpointURL("https://finder.example", policy: .httpsOnly))
        var finder = try #require(TelcoFinder(root: root))
        finder.scopes = ["telcofinder", "extra"]
        var client = Configuration.Client(
            id: try #require(ClientID("latchkey")), authentication: .privateKeyJWT(try Self.signingKey()))
        client.signingKey = try Self.signingKey()
        let rules = TelcoFinderRules(issuer: root, finder: finder, client: client)
        configuration.providers[0].others = [Configuration.Provider(rules, of: "acme")]
        #expect(
            try Self.members(configuration, at: "acme/telco_finder") == [
                "client_id": #""latchkey""#, "response_types": "[]", "grant_types": #"["client_credentials"]"#,
                "scope": #""telcofinder extra""#, "token_endpoint_auth_method": #""private_key_jwt""#,
                "token_endpoint_auth_signing_alg": #""ES256""#, "jwks_uri": Self.keySet,
            ])
        #expect(throws: AdministratorError.self) { try Self.members(configuration, at: "globex/telco_finder") }
        #expect(throws: AdministratorError.self) {
            try Self.members(configuration, client: "client-1", at: "acme/telco_finder")
        }
    }

    @Test("A client is named where there are several; what is unknown or missing is said")
    func failures() throws {
        var configuration = try Self.configuration()
        func failure(_ client: String? = nil, at provider: String? = "acme") throws -> String? {
            do throws(AdministratorError) {
                _ = try ClientMetadata.json(of: client, at: provider, in: configuration, features: .standard)
                return nil
            } catch { return error.description }
        }
        #expect(try failure(at: "globex") == "there is no provider globex; name one of: acme")
        #expect(try failure(at: "zenkey") == "there is no provider zenkey; name one of: acme")
        #expect(try failure("client-2")?.contains("no such client") == true)
        configuration.providers[0].clients.append(.init(id: try #require(ClientID("client-2")), secret: Secret("x")))
        #expect(try failure() == "acme has the clients client-1, client-2; name one with --client-id")
        #expect(try Self.members(configuration, client: "client-2")["client_id"] == #""client-2""#)
        configuration.publicURL = nil
        #expect(try failure("client-1")?.hasPrefix("public_url is not set") == true)
    }

    @Test("A provider is named where there are several")
    func onlyProvider() throws {
        var configuration = try Self.configuration()
        #expect(try Self.members(configuration, at: nil) == Self.usual)
        var other = configuration.providers[0]
        other.id = "globex"
        configuration.providers.append(other)
        func failure() -> String? {
            do throws(AdministratorError) {
                _ = try ClientMetadata.json(of: nil, at: nil, in: configuration, features: .standard)
                return nil
            } catch { return error.description }
        }
        #expect(failure() == "there are several providers; name one with --provider: acme, globex")
        configuration.providers = []
        #expect(failure() == "the configuration has no provider")
        configuration.zenkey.discoveryURL = EndpointURL("https://discovery.example/x", policy: .httpsOnly)
        configuration.zenkey.clients = other.clients
        #expect(try Self.members(configuration, at: nil)["redirect_uris"]?.contains("/auth/zenkey/callback") == true)
    }

    @Test("The command prints the metadata, and exits with 64 for an unknown provider")
    func command() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("latchkey.yaml")
        let yaml = """
            public_url: https://login.example
            api_keys: [\(String(repeating: "k", count: 32))]
            providers:
              acme:
                kind: oidc
                issuer: https://acme.example
                clients: [{id: client-1, secret: \(Self.secret), redirect_uris: ['https://web.example/done']}]
            """
        try Data(yaml.utf8).write(to: URL(fileURLWithPath: file))
        let printed = await (try LatchkeyProcess(["client-metadata", "--config", file])).ending()
        #expect(printed.status == 0, "\(printed.output)")
        #expect(printed.output.hasPrefix("{\n  \"client_id\": \"client-1\",\n"), "\(printed.output)")
        #expect(!printed.output.contains(Self.secret))
        let unknown = await (try LatchkeyProcess(["client-metadata", "--config", file, "--provider", "x"])).ending()
        #expect(unknown.status == 64)
    }
}
