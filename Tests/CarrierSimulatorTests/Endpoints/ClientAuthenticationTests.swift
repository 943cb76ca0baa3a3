import CarrierSimulator
import Crypto
import CryptoExtras
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("Client authentication")
struct ClientAuthenticationTests {
    private static let key = P256.Signing.PrivateKey()
    private static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    private static let tokenEndpoint = Harness.base + "/carriers/310010/token"

    private func carriers(_ authentication: CarrierSimulator.Client.Authentication) -> Harness {
        Harness(authentication: authentication)
    }

    private func keyed(_ keyID: String? = nil) -> Harness {
        carriers(.privateKeyJWT(publicKeyPEM: Self.key.publicKey.pemRepresentation, keyID: keyID))
    }

    /// A valid assertion, with some claims changed, or removed if nil. Values are JSON.
    private func assertion(
        _ changes: [String: String?] = [:], header: String = #"{"alg":"ES256","typ":"JWT"}"#,
        key: P256.Signing.PrivateKey = key
    ) throws -> String {
        var claims: [String: String] = [
            "iss": #""shop""#, "sub": #""shop""#, "aud": "\"\(Self.tokenEndpoint)\"", "jti": #""id-1""#,
            "iat": "1800000000", "exp": "1800000060",
        ]
        for (name, value) in changes { claims[name] = value }
        let payload = "{" + claims.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
        let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(payload.utf8)
        let signature = try key.signature(for: Array(signed.utf8)).rawRepresentation
        return signed + "." + Base64URL.encode(Array(signature))
    }

    private func redeem(
        _ carriers: Harness, _ form: [String: String?], authorization: String? = nil
    ) async throws -> (status: Int, error: String?) {
        let response = try await carriers.redeem(
            try carriers.code(), changing: form, authorization: authorization)
        return (response.status.code, try response.object()["error"]?.string)
    }

    private func redeem(_ carriers: Harness, assertion: String) async throws -> (status: Int, error: String?) {
        try await redeem(carriers, ["client_assertion_type": Self.type, "client_assertion": assertion])
    }

    @Test("client_secret_post is accepted only from clients registered for it")
    func post() async throws {
        let form: [String: String?] = ["client_id": "shop", "client_secret": Harness.secret]
        #expect(try await redeem(carriers(.clientSecretPost), form) == (200, nil))
        #expect(try await redeem(carriers(.clientSecretBasic), form) == (401, "invalid_client"))
        #expect(try await redeem(keyed(), form) == (401, "invalid_client"))
        for (name, value) in [("client_id", "other"), ("client_id", nil), ("client_secret", "wrong")]
            as [(String, String?)]
        {
            #expect(
                try await redeem(carriers(.clientSecretPost), form.merging([name: value]) { $1 })
                    == (401, "invalid_client"), "\(name)")
        }
    }

    @Test("client_secret_basic is refused from clients registered for another method")
    func basic() async throws {
        let field = Forms.basic(id: Harness.clientID, secret: Harness.secret)
        #expect(try await redeem(carriers(.clientSecretBasic), [:], authorization: field) == (200, nil))
        #expect(try await redeem(carriers(.clientSecretPost), [:], authorization: field) == (401, "invalid_client"))
        #expect(try await redeem(keyed(), [:], authorization: field) == (401, "invalid_client"))
    }

    @Test("A valid assertion is accepted, for the token endpoint or for the issuer")
    func good() async throws {
        for audience in [Self.tokenEndpoint, Harness.base + "/carriers/310010"] {
            #expect(try await redeem(keyed(), assertion: assertion(["aud": "\"\(audience)\""])) == (200, nil))
            #expect(try await redeem(keyed(), assertion: assertion(["aud": "[\"\(audience)\"]"])) == (200, nil))
        }
        let named: [String: String?] = [
            "client_assertion_type": Self.type, "client_assertion": try assertion(), "client_id": "shop",
        ]
        #expect(try await redeem(keyed(), named) == (200, nil))
    }

    @Test("A carrier that is strict accepts only the issuer as audience, and no RS256")
    func strict() async throws {
        let carriers = keyed()
        carriers.simulator.setFaults([.clientAssertionStrict], for: "310010")
        let issuer = "\"\(Harness.base)/carriers/310010\""
        #expect(try await redeem(carriers, assertion: assertion(["aud": issuer])) == (200, nil))
        #expect(try await redeem(carriers, assertion: assertion(["jti": #""2""#])) == (401, "invalid_client"))

        let key = try _RSA.Signing.PrivateKey(pemRepresentation: RSAKeyPEM.first)
        let others = self.carriers(.privateKeyJWT(publicKeyPEM: key.publicKey.pemRepresentation))
        others.simulator.setFaults([.clientAssertionStrict], for: "310010")
        for (algorithm, isGood) in [("RS256", false), ("PS256", true)] {
            let header = "{\"alg\":\"\(algorithm)\"}"
            let signed = try assertion(["aud": issuer], header: header).split(separator: ".").prefix(2)
                .joined(separator: ".")
            let digest = SHA256.hash(data: Array(signed.utf8))
            let signature = try key.signature(for: digest, padding: isGood ? .PSS : .insecurePKCS1v1_5)
            let text = signed + "." + Base64URL.encode(Array(signature.rawRepresentation))
            #expect(try await redeem(others, assertion: text).status == (isGood ? 200 : 401))
        }
    }

    @Test("An RSA key is accepted too")
    func rsa() async throws {
        let key = try _RSA.Signing.PrivateKey(pemRepresentation: RSAKeyPEM.first)
        let carriers = carriers(.privateKeyJWT(publicKeyPEM: key.publicKey.pemRepresentation))
        let signed = try assertion(header: #"{"alg":"RS256"}"#).split(separator: ".").prefix(2).joined(separator: ".")
        let digest = SHA256.hash(data: Array(signed.utf8))
        let good = try key.signature(for: digest, padding: .insecurePKCS1v1_5).rawRepresentation
        #expect(try await redeem(carriers, assertion: signed + "." + Base64URL.encode(Array(good))) == (200, nil))
        let pss = try key.signature(for: digest, padding: .PSS).rawRepresentation
        #expect(
            try await redeem(carriers, assertion: signed + "." + Base64URL.encode(Array(pss))) == (
                401, "invalid_client"
            ))
    }

    @Test("An assertion is valid once")
    func reuse() async throws {
        let carriers = keyed()
        let text = try assertion()
        #expect(try await redeem(carriers, assertion: text) == (200, nil))
        #expect(try await redeem(carriers, assertion: text) == (401, "invalid_client"))
        // Another assertion with the same jti is refused too.
        #expect(try await redeem(carriers, assertion: assertion(["exp": "1800000050"])) == (401, "invalid_client"))
        #expect(try await redeem(carriers, assertion: assertion(["jti": #""id-2""#])) == (200, nil))
    }

    @Test("A refused assertion does not spend its jti")
    func refusedIDs() async throws {
        let carriers = keyed()
        #expect(try await redeem(carriers, assertion: assertion(["aud": #""x""#])) == (401, "invalid_client"))
        #expect(try await redeem(carriers, assertion: assertion()) == (200, nil))
    }

    @Test(
        "An invalid claim is refused",
        arguments: [
            ("iss", nil), ("iss", #""other""#), ("sub", nil), ("sub", #""other""#), ("sub", #""nobody""#), ("aud", nil),
            ("aud", #""https://carriers.example/carriers/310410/token""#), ("aud", "[]"),
            ("aud", #"["https://carriers.example/carriers/310010/token","https://evil.example"]"#), ("jti", nil),
            ("jti", #""""#), ("jti", "7"), ("iat", nil), ("iat", "1800000061"), ("exp", nil), ("exp", "1800000000"),
            ("exp", "1800000301"), ("exp", #""1800000060""#), ("nbf", "1800000061"),
        ] as [(String, String?)])
    func claims(_ name: String, _ json: String?) async throws {
        #expect(try await redeem(keyed(), assertion: assertion([name: json])) == (401, "invalid_client"))
    }

    @Test("An assertion expires")
    func expired() async throws {
        let carriers = keyed()
        let text = try assertion()
        carriers.clock.advance(bySeconds: 60)
        #expect(try await redeem(carriers, assertion: text) == (401, "invalid_client"))
    }

    @Test("Another key, another kid, another algorithm and another form are refused")
    func signatures() async throws {
        #expect(
            try await redeem(keyed(), assertion: assertion(key: P256.Signing.PrivateKey())) == (401, "invalid_client"))
        for header in [
            #"{"alg":"none"}"#, #"{"alg":"HS256"}"#, #"{"alg":"RS256"}"#, #"{"alg":"ES256","crit":["x"],"x":1}"#, "{}",
        ] {
            #expect(
                try await redeem(keyed(), assertion: assertion(header: header)) == (401, "invalid_client"), "\(header)")
        }
        #expect(try await redeem(keyed("k-1"), assertion: assertion()) == (401, "invalid_client"))
        let named = #"{"alg":"ES256","kid":"k-1"}"#
        #expect(try await redeem(keyed("k-1"), assertion: assertion(header: named)) == (200, nil))
        for text in ["", "a.b", try assertion() + ".x", "a.b.c"] {
            #expect(try await redeem(keyed(), assertion: text) == (401, "invalid_client"), "\(text)")
        }
    }

    @Test("A wrong assertion type, a missing one, or another client_id is refused")
    func members() async throws {
        let good: [String: String?] = ["client_assertion_type": Self.type, "client_assertion": try assertion()]
        for (name, value) in [
            ("client_assertion_type", nil), ("client_assertion_type", "urn:other"), ("client_assertion", nil),
            ("client_id", "other"),
        ] as [(String, String?)] {
            #expect(
                try await redeem(keyed(), good.merging([name: value]) { $1 }) == (401, "invalid_client"), "\(name)")
        }
    }

    @Test("A request with two valid methods is refused")
    func both() async throws {
        let field = Forms.basic(id: Harness.clientID, secret: Harness.secret)
        let secret: [String: String?] = ["client_id": "shop", "client_secret": Harness.secret]
        let proof: [String: String?] = ["client_assertion_type": Self.type, "client_assertion": try assertion()]
        for (authentication, form, field) in [
            (.clientSecretPost, secret, field), (.clientSecretBasic, ["client_secret": Harness.secret], field),
            (.clientSecretBasic, proof, field), (.clientSecretPost, secret.merging(proof) { $1 }, nil),
        ] as [(CarrierSimulator.Client.Authentication, [String: String?], String?)] {
            #expect(try await redeem(carriers(authentication), form, authorization: field) == (400, "invalid_request"))
        }
        #expect(try await redeem(keyed(), proof, authorization: field) == (400, "invalid_request"))
        #expect(try await redeem(keyed(), secret.merging(proof) { $1 }) == (400, "invalid_request"))
    }

    @Test("A carrier accepts only the methods that it lists")
    func listed() async throws {
        let carriers = keyed()
        carriers.simulator.update("310010") { $0.authenticationMethods = ["client_secret_basic"] }
        #expect(try await redeem(carriers, assertion: assertion()) == (401, "invalid_client"))
        let document = try await carriers.get("/carriers/310010/.well-known/openid-configuration").object()
        #expect(
            document["token_endpoint_auth_methods_supported"]?.array?.compactMap(\.string) == ["client_secret_basic"])
    }
}
