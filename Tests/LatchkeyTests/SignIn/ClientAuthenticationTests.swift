import CarrierSimulator
import Crypto
import CryptoExtras
import Foundation
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Sign-ins of clients that do not authenticate with HTTP Basic.
@Suite(.serialized) struct ClientAuthenticationTests {
    private static let p256 = P256.Signing.PrivateKey()

    private func status(
        _ authentication: ClientAuthentication, registered: CarrierSimulator.Client.Authentication,
        listed: [String]? = nil, posts: Int = 1
    ) async throws -> (status: Int, type: String?) {
        var result: (Int, String?) = (0, nil)
        try await SignInHarness.with(
            configure: { configuration in configuration.zenkey.clients[0].authentication = authentication },
            register: { $0.authentication = registered }
        ) { harness in
            if let listed { harness.simulator.update(SignInHarness.mccmnc) { $0.authenticationMethods = listed } }
            let response = try await harness.app.signIn(try harness.authorizedResponse())
            #expect(harness.simulator.log.tokenPosts() == posts)
            // A second sign-in needs a new assertion.
            if response.status == 200 {
                #expect(try await harness.app.signIn(try harness.authorizedResponse()).status == 200)
            }
            result = (response.status, response.json["error_type"]?.string)
        }
        return result
    }

    @Test("client_secret_post signs in")
    func post() async throws {
        let secret = Secret(SignInHarness.secret)
        #expect(try await status(.clientSecretPost(secret), registered: .clientSecretPost) == (200, nil))
    }

    @Test("private_key_jwt signs in, with every algorithm of a client's key, for every audience")
    func assertion() async throws {
        let rsa = try _RSA.Signing.PrivateKey(pemRepresentation: RSAKeyPEM.second)
        let ed25519 = Curve25519.Signing.PrivateKey()
        let start: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]
        let published = (start + Array(ed25519.publicKey.rawRepresentation)).withUnsafeBytes { Data($0) }
        let jwk = """
            {"kty":"OKP","crv":"Ed25519","d":"\(Base64URL.encode(Array(ed25519.rawRepresentation)))",\
            "x":"\(Base64URL.encode(Array(ed25519.publicKey.rawRepresentation)))"}
            """
        for (text, pem, algorithm) in [
            (rsa.pemRepresentation, rsa.publicKey.pemRepresentation, SigningAlgorithm.rs256),
            (rsa.pemRepresentation, rsa.publicKey.pemRepresentation, .ps256),
            (Self.p256.pemRepresentation, Self.p256.publicKey.pemRepresentation, .es256),
            (jwk, "-----BEGIN PUBLIC KEY-----\n\(published.base64EncodedString())\n-----END PUBLIC KEY-----\n", .edDSA),
        ] {
            let key = try #require(ClientKey(parsing: Secret(text)).named("k-1").signing(with: algorithm))
            for audience in ClientAssertionAudience.allCases {
                #expect(
                    try await status(
                        .privateKeyJWT(key, audience: audience),
                        registered: .privateKeyJWT(publicKeyPEM: pem, keyID: "k-1")) == (200, nil))
            }
        }
    }

    @Test("An unknown key or an unlisted method is a configuration error")
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
