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
