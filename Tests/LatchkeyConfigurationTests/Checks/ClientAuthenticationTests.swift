import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Testing

@Suite("Client authentication in the configuration")
struct ClientAuthenticationTests {
    /// A P-256 key made for this test and used nowhere else.
    private static let key = #"""
        {"kty":"EC","crv":"P-256","kid":"own","d":"USHZapk4fiSRMarUeVjMOmKESjszdD3BtVP65REiXt8",
        "x":"D67sPWhnvUtA0zb_Hnk6uxuw3FMq69gXHi46qUWPYMg","y":"-k_OcJs72mCNucyoAAwSAlgTBGqpEy20BYsBObTtLpI"}
        """#

    private func authentication(_ members: String) throws -> ClientAuthentication? {
        let loaded = try load(
            "zenkey: {clients: [{id: one, \(members)}]}", environment: needed.with("LATCHKEY_ZENKEY_CLIENTS", nil),
            files: ["key": Self.key + "\n"])
        return loaded.configuration.zenkey.clients.first?.authentication
    }

    @Test(
        "The method is the configured one, or follows from the client's secret or key",
        arguments: [
            ("secret: s", ClientAuthenticationMethod.clientSecretBasic),
            ("secret: s, token_endpoint_auth_method: client_secret_basic", .clientSecretBasic),
            ("secret: s, token_endpoint_auth_method: client_secret_post", .clientSecretPost),
            ("private_key_file: key", .privateKeyJWT),
            ("secret: s, private_key_file: key", .clientSecretBasic),
            ("secret: s, private_key_file: key, token_endpoint_auth_method: private_key_jwt", .privateKeyJWT),
        ])
    func method(_ members: String, _ method: ClientAuthenticationMethod) throws {
        #expect(try authentication(members)?.method == method)
    }

    @Test("The key id is the key's own, and the audience is the token endpoint, unless configured otherwise")
    func keyAndAudience() throws {
        let key = try ClientKey(parsing: Secret(Self.key))
        #expect(try authentication("private_key_file: key") == .privateKeyJWT(key, audience: .tokenEndpoint))
        #expect(
            try authentication("private_key_file: key, private_key_id: k-2, assertion_audience: issuer")
                == .privateKeyJWT(key.named("k-2"), audience: .issuer))
    }

    /// An Ed25519 key made for this test and used nowhere else.
    private static let octets = #"""
        {"kty":"OKP","crv":"Ed25519","kid":"octets","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
        "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
        """#

    @Test(
        "The algorithm of a private key is the configured one, if its type has it",
        arguments: [
            ("private_key_file: octets", SigningAlgorithm.edDSA, nil),
            ("private_key_file: octets, private_key_alg: Ed25519", .ed25519, nil),
            ("private_key_file: key, private_key_alg: ES256", .es256, nil),
            ("private_key_file: key, private_key_alg: PS256", nil, "has private_key_alg: PS256, which"),
            ("private_key_file: octets, private_key_alg: RS256", nil, "has private_key_alg: RS256, which"),
            ("private_key_file: key, private_key_alg: HS256", nil, "is not one of its words"),
            ("private_key_file: key, private_key_alg: ES384", nil, "is not one of its words"),
            ("secret: s, private_key_alg: PS256", nil, "has private_key_alg, but no private_key"),
            (
                "private_key_file: key, other_private_key_file: octets, other_private_key_alg: PS256", nil,
                "has other_private_key_alg: PS256, which"
            ),
            ("private_key_file: key, other_private_key_alg: PS256", nil, "but no other_private_key"),
        ] as [(String, SigningAlgorithm?, String?)])
    func algorithm(_ members: String, _ algorithm: SigningAlgorithm?, _ problem: String?) throws {
        let text = "zenkey: {clients: [{id: one, \(members)}]}"
        let (environment, files) = (
            needed.with("LATCHKEY_ZENKEY_CLIENTS", nil), ["key": Self.key, "octets": Self.octets]
        )
        if let problem {
            let found = problems(text, environment: environment, files: files)
            #expect(found.count == 1 && found.first?.contains(problem) == true, "\(found)")
        } else {
            let loaded = try load(text, environment: environment, files: files)
            #expect(loaded.configuration.zenkey.clients.first?.signingKey?.algorithm == algorithm)
        }
    }

    @Test(
        "How responses are encrypted fits the key",
        arguments: [
            ("", nil, nil),
            ("id_token_encrypted_response_alg: ECDH-ES, decryption_key_file: key", ContentEncryption.a256GCM, nil),
            (
                "id_token_encrypted_response_alg: ECDH-ES, id_token_encrypted_response_enc: A128GCM, "
                    + "decryption_key_file: key", .a128GCM, nil
            ),
            (
                "id_token_encrypted_response_alg: ECDH-ES, decryption_key_file: key, other_decryption_key_file: other",
                .a256GCM, nil
            ),
            ("decryption_key_file: key", nil, "has decryption_key, but no id_token_encrypted_response_alg"),
            ("id_token_encrypted_response_enc: A256GCM", nil, "has id_token_encrypted_response_enc, but no"),
            ("id_token_encrypted_response_alg: ECDH-ES", nil, "but no decryption_key"),
            (
                "id_token_encrypted_response_alg: RSA-OAEP-256, decryption_key_file: key", nil,
                "has id_token_encrypted_response_alg: RSA-OAEP-256, which its decryption_key is not for"
            ),
            ("id_token_encrypted_response_alg: RSA1_5, decryption_key_file: key", nil, "is not one of its words"),
            (
                "id_token_encrypted_response_alg: ECDH-ES, id_token_encrypted_response_enc: A128CBC-HS256, "
                    + "decryption_key_file: key", nil, "is not one of its words"
            ),
            (
                "id_token_encrypted_response_alg: ECDH-ES, decryption_key_file: octets", nil,
                "is not an RSA key of 2048 to 8192 bits"
            ),
            (
                "id_token_encrypted_response_alg: ECDH-ES, decryption_key_file: key, other_decryption_key_id: x", nil,
                "has other_decryption_key_id, but no other_decryption_key"
            ),
            (
                "id_token_encrypted_response_alg: ECDH-ES, decryption_key_file: key, decryption_key_id: x, "
                    + "other_decryption_key_file: other, other_decryption_key_id: x", nil,
                "has one kid for decryption_key"
            ),
            (
                "id_token_encrypted_response_alg: ECDH-ES, decryption_key_file: key, "
                    + "userinfo_encrypted_response_enc: A128GCM", nil,
                "has userinfo_encrypted_response_enc, but no userinfo_encrypted_response_alg"
            ),
            (
                "userinfo_encrypted_response_enc: A256GCM, decryption_key_file: key", nil,
                "but no userinfo_encrypted_response_alg"
            ),
            (
                "userinfo_encrypted_response_alg: ECDH-ES", nil,
                "has userinfo_encrypted_response_alg, but no decryption_key"
            ),
            (
                "userinfo_encrypted_response_alg: RSA-OAEP-256, decryption_key_file: key", nil,
                "has userinfo_encrypted_response_alg: RSA-OAEP-256, which its decryption_key is not for"
            ),
            (
                "id_token_encrypted_response_alg: ECDH-ES, userinfo_encrypted_response_alg: RSA-OAEP-256, "
                    + "decryption_key_file: key", nil, "has userinfo_encrypted_response_alg: RSA-OAEP-256, which its"
            ),
            ("userinfo_encrypted_response_alg: RSA1_5, decryption_key_file: key", nil, "is not one of its words"),
            (
                "userinfo_encrypted_response_alg: ECDH-ES, userinfo_encrypted_response_enc: A128CBC-HS256, "
                    + "decryption_key_file: key", nil, "is not one of its words"
            ),
            (
                "userinfo_encrypted_response_alg: ECDH-ES, decryption_key_file: key, decryption_key_id: x, "
                    + "other_decryption_key_file: other, other_decryption_key_id: x", nil,
                "has one kid for decryption_key"
            ),
        ] as [(String, ContentEncryption?, String?)])
    func encryption(_ members: String, _ encryption: ContentEncryption?, _ problem: String?) throws {
        let text = "zenkey: {clients: [{id: one, secret: s, \(members)}]}"
        let environment = needed.with("LATCHKEY_ZENKEY_CLIENTS", nil)
        let files = ["key": Self.key, "other": Self.otherKey, "octets": Self.octets]
        if let problem {
            let found = problems(text, environment: environment, files: files)
            #expect(found.count == 1 && found.first?.contains(problem) == true, "\(found)")
        } else {
            let client = try load(text, environment: environment, files: files).configuration.zenkey.clients[0]
            #expect(client.idTokenDecryption?.encryption == encryption)
            #expect((client.idTokenDecryption?.otherKey != nil) == members.contains("other_"))
        }
    }

    @Test(
        "Userinfo is encrypted with the key of ID tokens, or alone",
        arguments: [
            ("userinfo_encrypted_response_alg: ECDH-ES", ContentEncryption?.none, ContentEncryption?.some(.a256GCM)),
            (
                "userinfo_encrypted_response_alg: ECDH-ES, userinfo_encrypted_response_enc: A128GCM, "
                    + "id_token_encrypted_response_alg: ECDH-ES", .a256GCM, .a128GCM
            ),
            ("id_token_encrypted_response_alg: ECDH-ES", .a256GCM, nil),
        ])
    func encryptedUserInfo(
        _ members: String, _ idTokens: ContentEncryption?, _ userInfo: ContentEncryption?
    ) throws {
        let text = """
            zenkey: {clients: [{id: one, secret: s, decryption_key_file: key, other_decryption_key_file: other,
              decryption_key_id: enc-1, \(members)}]}
            """
        let configuration = try load(
            text, environment: needed.with("LATCHKEY_ZENKEY_CLIENTS", nil),
            files: ["key": Self.key, "other": Self.otherKey]
        ).configuration
        let client = configuration.zenkey.clients[0]
        #expect(client.idTokenDecryption?.encryption == idTokens)
        #expect(client.userInfoDecryption?.encryption == userInfo)
        #expect(client.userInfoDecryption == nil || client.userInfoDecryption?.otherKey != nil)
        #expect(configuration.publishedDecryptionKeys.map(\.keyID) == ["enc-1"])
    }

    @Test("A key beside a secret signs backchannel authentication requests; a world-readable key causes a warning")
    func warnings() throws {
        let environment = needed.with("LATCHKEY_ZENKEY_CLIENTS", nil)
        let text =
            "zenkey: {issuers: \(ConfigurationWarningTests.issuers), "
            + "clients: [{id: one, redirect_uris: ['a.b:/c'], private_key_file: key"
        let unused = try load(text + ", secret: s}]}", environment: environment, files: ["key": Self.key])
        #expect(unused.configuration.zenkey.clients.first?.signingKey == (try ClientKey(parsing: Secret(Self.key))))
        let readable = try load(text + "}]}", environment: environment, files: ["key": Self.key], readableByAll: true)
        #expect(readable.warnings.contains { $0.reason == "every user of this machine can read the file key" })
        #expect(try load(text + "}]}", environment: environment, files: ["key": Self.key]).warnings.isEmpty)
    }

    /// Another such key.
    private static let otherKey = #"""
        {"kty":"EC","crv":"P-256","d":"U-03TvL7TsYceN7spi53Z4z0qBMGfEjrDc8WO6q1zWo",
        "x":"Y8NIA8XyjGdYNCOoS-ccR2thI_bNzbgTMytWEhhOMgE","y":"buRcROGCy3pcgh9kA8CENhyh4IvrGltX3OyB2vso6uA"}
        """#

    private func clients(_ members: String) -> [String] {
        problems(
            "zenkey: {clients: [{id: one, \(members)}]}", environment: needed.with("LATCHKEY_ZENKEY_CLIENTS", nil),
            files: ["key": Self.key, "other": Self.otherKey])
    }

    @Test("A second key is published beside the first, each once, and signs nothing")
    func otherPrivateKey() throws {
        let loaded = try load(
            "zenkey: {clients: [{id: one, private_key_file: key, other_private_key_file: other}, "
                + "{id: two, private_key_file: key, other_private_key_file: other, other_private_key_id: k-2}]}",
            environment: needed.with("LATCHKEY_ZENKEY_CLIENTS", nil),
            files: ["key": Self.key, "other": Self.otherKey])
        let (own, other) = (try ClientKey(parsing: Secret(Self.key)), try ClientKey(parsing: Secret(Self.otherKey)))
        #expect(loaded.configuration.publishedKeys == [own, other, other.named("k-2")])
        #expect(loaded.configuration.zenkey.clients[0].authentication == .privateKeyJWT(own))
        #expect(!loaded.warnings.contains { $0.reason.contains("have the kid") })
    }

    @Test("Two keys with one kid cause a warning, because all are in one set")
    func sharedKeyID() throws {
        let loaded = try load(
            "zenkey: {clients: [{id: one, private_key_file: key}, "
                + "{id: two, private_key_file: other, private_key_id: own}]}",
            environment: needed.with("LATCHKEY_ZENKEY_CLIENTS", nil),
            files: ["key": Self.key, "other": Self.otherKey])
        #expect(loaded.warnings.contains { $0.key == "zenkey.clients" && $0.reason.contains("have the kid own") })
    }

    @Test(
        "A second key that does not fit is refused",
        arguments: [
            ("secret: s, other_private_key_file: other", "has other_private_key, but no private_key"),
            ("secret: s, other_private_key_id: k-2", "but no other_private_key"),
            ("private_key_file: key, other_private_key_file: key", "has one kid"),
            ("private_key_file: key, other_private_key_file: other, other_private_key_id: own", "has one kid"),
            (
                "private_key_file: key, other_private_key_file: other, "
                    + "signed_secret: {issuer: t, audience: 'https://vendor.example'}", "is not published"
            ),
        ])
    func wrongOtherKey(_ members: String, _ reason: String) {
        let found = clients(members)
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(reason) == true, "\(found)")
    }

    @Test("The encoding of HTTP Basic can be configured", arguments: BasicCredentialsEncoding.allCases)
    func basicEncoding(_ encoding: BasicCredentialsEncoding) throws {
        let members = "id: a, secret: '+', client_secret_basic_encoding: \(encoding.rawValue)"
        let loaded = try load(
            "zenkey: {clients: [{\(members)}]}", environment: needed.with("LATCHKEY_ZENKEY_CLIENTS", nil))
        let authentication = loaded.configuration.zenkey.clients.map(\.authentication)
        #expect(authentication == [.clientSecretBasic(Secret("+"), encoding: encoding)])
    }

    @Test(
        "An encoding that does not fit is refused",
        arguments: [
            ("id: a, secret: s, client_secret_basic_encoding: base64", "is not one of its words"),
            ("id: 'a:b', secret: s, client_secret_basic_encoding: plain", "a colon in its id"),
            (
                "id: a, secret: s, token_endpoint_auth_method: client_secret_post, client_secret_basic_encoding: plain",
                "does not use client_secret_basic"
            ),
        ])
    func wrongBasicEncoding(_ members: String, _ reason: String) {
        let found = problems(
            "zenkey: {clients: [{\(members)}]}", environment: needed.with("LATCHKEY_ZENKEY_CLIENTS", nil))
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(reason) == true, "\(found)")
    }
}
