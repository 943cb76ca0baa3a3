import CarrierSimulator
import Crypto
import CryptoExtras
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Testing

/// Sign-ins of clients that prove in other ways than HTTP Basic who they are.
@Suite(.serialized) struct ClientAuthenticationTests {
    private static let p256 = P256.Signing.PrivateKey()

    private func status(
        _ authentication: ClientAuthentication, registered: CarrierSimulator.Client.Authentication,
        listed: [String]? = nil, posts: Int = 1
    ) async throws -> (status: Int, type: String?) {
        var result: (Int, String?) = (0, nil)
        try await Stage.with(
            configure: { configuration in configuration.zenkey.clients[0].authentication = authentication },
            register: { $0.authentication = registered }
        ) { stage in
            if let listed { stage.simulator.update(Stage.mccmnc) { $0.authenticationMethods = listed } }
            let answer = try await stage.app.signIn(try stage.authorizedResponse())
            #expect(stage.simulator.log.tokenPosts() == posts)
            // A second sign-in needs an assertion of its own.
            if answer.status == 200 {
                #expect(try await stage.app.signIn(try stage.authorizedResponse()).status == 200)
            }
            result = (answer.status, answer.json["error_type"]?.string)
        }
        return result
    }

    @Test("A secret in the form signs in")
    func post() async throws {
        let secret = Secret(Stage.secret)
        #expect(try await status(.clientSecretPost(secret), registered: .clientSecretPost) == (200, nil))
    }

    @Test("An assertion signs in, by RS256 and by ES256, for the token endpoint and for the issuer")
    func assertion() async throws {
        let rsa = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        for (text, pem) in [
            (rsa.pemRepresentation, rsa.publicKey.pemRepresentation),
            (Self.p256.pemRepresentation, Self.p256.publicKey.pemRepresentation),
        ] {
            let key = try ClientKey(parsing: Secret(text)).named("k-1")
            for audience in ClientAssertionAudience.allCases {
                #expect(
                    try await status(
                        .privateKeyJWT(key, audience: audience),
                        registered: .privateKeyJWT(publicKeyPEM: pem, keyID: "k-1")) == (200, nil))
            }
        }
    }

    @Test("A carrier that does not know the key, or does not list the method, is the operator's matter")
    func refused() async throws {
        let key = try ClientKey(parsing: Secret(Self.p256.pemRepresentation))
        let stranger = P256.Signing.PrivateKey().publicKey.pemRepresentation
        #expect(
            try await status(.privateKeyJWT(key), registered: .privateKeyJWT(publicKeyPEM: stranger))
                == (502, "configurationError"))
        #expect(
            try await status(
                .privateKeyJWT(key),
                registered: .privateKeyJWT(publicKeyPEM: Self.p256.publicKey.pemRepresentation),
                listed: ["client_secret_basic"], posts: 0) == (502, "configurationError"))
    }
}
