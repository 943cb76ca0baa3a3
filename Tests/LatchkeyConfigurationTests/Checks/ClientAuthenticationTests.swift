import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Testing

@Suite("How a client of the configuration proves who it is")
struct ClientAuthenticationTests {
    /// A P-256 key made for this test and used nowhere.
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
        "The method is the one that is named, or follows from what the client has",
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

    @Test("A key brings its id unless it is given another, and the audience is the token endpoint unless it is said")
    func keyAndAudience() throws {
        let key = try ClientKey(parsing: Secret(Self.key))
        #expect(try authentication("private_key_file: key") == .privateKeyJWT(key, audience: .tokenEndpoint))
        #expect(
            try authentication("private_key_file: key, private_key_id: k-2, assertion_audience: issuer")
                == .privateKeyJWT(key.named("k-2"), audience: .issuer))
    }

    @Test("A key beside a secret signs server-initiated sign-ins, and one that everybody can read is warned of")
    func warnings() throws {
        let environment = needed.with("LATCHKEY_ZENKEY_CLIENTS", nil)
        let text = "zenkey: {clients: [{id: one, redirect_uris: ['a.b:/c'], private_key_file: key"
        let unused = try load(text + ", secret: s}]}", environment: environment, files: ["key": Self.key])
        #expect(unused.configuration.zenkey.clients.first?.signingKey == (try ClientKey(parsing: Secret(Self.key))))
        let readable = try load(text + "}]}", environment: environment, files: ["key": Self.key], readableByAll: true)
        #expect(readable.warnings.contains { $0.reason == "every user of this machine can read the file key" })
        #expect(try load(text + "}]}", environment: environment, files: ["key": Self.key]).warnings.isEmpty)
    }
}
