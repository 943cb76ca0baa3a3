import Crypto
import CryptoExtras
import OpenIDConnect
import Primitives
import TestSupport
import Testing

/// Each algorithm that a client may be registered with (`id_token_signed_response_alg`).
struct SigningAlgorithmTests {
    /// A key pair that signs by one algorithm.
    struct Signer: Sendable, CustomTestStringConvertible {
        let algorithm: SigningAlgorithm
        /// Without `alg` and `kid`.
        let jwk: JSONDraft
        let sign: @Sendable ([UInt8]) throws -> [UInt8]
        var testDescription: String { algorithm.rawValue }

        func token(
            alg: String? = nil, _ change: (inout TokenDraft) -> Void = { _ in }
        ) throws -> String {
            var draft = TokenDraft()
            draft.header["alg"] = "\"\(alg ?? algorithm.rawValue)\""
            draft.header["kid"] = nil
            let sign = self.sign
            draft.sign = { (try? sign($0)) ?? [] }
            change(&draft)
            return draft.text
        }
    }

    private static func rsa(
        _ algorithm: SigningAlgorithm, _ padding: _RSA.Signing.Padding,
        _ hash: @escaping @Sendable ([UInt8]) -> any Digest
    ) -> Signer {
        Signer(algorithm: algorithm, jwk: TestKey.rsa1.jwk.with("alg", nil).with("kid", nil)) { signed in
            guard case .rsa(let key) = TestKey.rsa1.pair else { return [] }
            return Array(try key.signature(for: hash(signed), padding: padding).rawRepresentation)
        }
    }

    private static func curve(_ name: String, _ point: [UInt8]) -> JSONDraft {
        [
            ("kty", "\"EC\""), ("crv", "\"\(name)\""),
            ("x", "\"\(Base64URL.encode(point.prefix(point.count / 2)))\""),
            ("y", "\"\(Base64URL.encode(point.suffix(point.count / 2)))\""),
        ]
    }

    static let signers: [Signer] = {
        let p256 = P256.Signing.PrivateKey()
        let p384 = P384.Signing.PrivateKey()
        let p521 = P521.Signing.PrivateKey()
        let ed25519 = Curve25519.Signing.PrivateKey()
        let octets: JSONDraft = [
            ("kty", "\"OKP\""), ("crv", "\"Ed25519\""),
            ("x", "\"\(Base64URL.encode(Array(ed25519.publicKey.rawRepresentation)))\""),
        ]
        return [
            rsa(.rs256, .insecurePKCS1v1_5) { SHA256.hash(data: $0) },
            rsa(.rs384, .insecurePKCS1v1_5) { SHA384.hash(data: $0) },
            rsa(.rs512, .insecurePKCS1v1_5) { SHA512.hash(data: $0) },
            rsa(.ps256, .PSS) { SHA256.hash(data: $0) },
            rsa(.ps384, .PSS) { SHA384.hash(data: $0) },
            rsa(.ps512, .PSS) { SHA512.hash(data: $0) },
            Signer(algorithm: .es256, jwk: curve("P-256", Array(p256.publicKey.rawRepresentation))) {
                Array(try p256.signature(for: SHA256.hash(data: $0)).rawRepresentation)
            },
            Signer(algorithm: .es384, jwk: curve("P-384", Array(p384.publicKey.rawRepresentation))) {
                Array(try p384.signature(for: SHA384.hash(data: $0)).rawRepresentation)
            },
            Signer(algorithm: .es512, jwk: curve("P-521", Array(p521.publicKey.rawRepresentation))) {
                Array(try p521.signature(for: SHA512.hash(data: $0)).rawRepresentation)
            },
            Signer(algorithm: .edDSA, jwk: octets) { Array(try ed25519.signature(for: $0)) },
            Signer(algorithm: .ed25519, jwk: octets) { Array(try ed25519.signature(for: $0)) },
        ]
    }()

    private func check(
        _ text: String, _ keys: [JSONDraft], _ algorithms: Set<SigningAlgorithm>,
        expecting change: (inout IDTokenExpectation) -> Void = { _ in }
    ) throws -> IDTokenCheck? {
        try failedCheck(text, keySet: TestKey.keySet(keys), algorithms: algorithms, expecting: change)
    }

    @Test("There is a signer for every algorithm")
    func complete() { #expect(Set(Self.signers.map(\.algorithm)) == Set(SigningAlgorithm.allCases)) }

    @Test("A token is accepted if its algorithm is, whether its key names it or not", arguments: signers)
    func accepted(_ signer: Signer) throws {
        let text = try signer.token()
        #expect(try check(text, [signer.jwk], [signer.algorithm]) == nil)
        let named = signer.jwk.with("alg", "\"\(signer.algorithm.rawValue)\"")
        #expect(try check(text, [named], [signer.algorithm]) == nil)
    }

    @Test("A client that names no algorithm accepts RS256 and ES256 alone", arguments: signers)
    func standard(_ signer: Signer) throws {
        let expected: IDTokenCheck? = [.rs256, .es256].contains(signer.algorithm) ? nil : .algorithm
        #expect(try check(signer.token(), [signer.jwk], SigningAlgorithm.standard) == expected)
    }

    @Test("A signature by another algorithm than the header's is refused", arguments: signers)
    func otherAlgorithm(_ signer: Signer) throws {
        for claimed in SigningAlgorithm.allCases where claimed != signer.algorithm {
            let pair: Set<SigningAlgorithm> = [claimed, signer.algorithm]
            let found = try check(try signer.token(alg: claimed.rawValue), [signer.jwk], pair)
            // EdDSA and Ed25519 are two names of the same algorithm.
            let expected: Set<IDTokenCheck?> = pair == [.edDSA, .ed25519] ? [nil] : [.key, .signature]
            #expect(expected.contains(found), "as \(claimed.rawValue): \(String(describing: found))")
        }
    }

    @Test("A key that names an algorithm verifies no other", arguments: signers)
    func namedKey(_ signer: Signer) throws {
        for named in SigningAlgorithm.allCases where named != signer.algorithm {
            guard Set([named, signer.algorithm]) != [.edDSA, .ed25519] else { continue }
            let key = signer.jwk.with("alg", "\"\(named.rawValue)\"")
            #expect(try check(try signer.token(), [key], [signer.algorithm]) == .key)
        }
    }

    @Test("A changed signature is refused, and one that is cut short", arguments: signers)
    func changed(_ signer: Signer) throws {
        let sign = signer.sign
        let wrong: [@Sendable ([UInt8]) throws -> [UInt8]] = [
            { signed in
                var signature = try sign(signed)
                signature[signature.count - 1] ^= 1
                return signature
            }, { Array(try sign($0).dropLast()) }, { [0] + (try sign($0)) }, { try sign($0 + [0]) },
        ]
        for change in wrong {
            let text = try signer.token { draft in draft.sign = { (try? change($0)) ?? [0] } }
            #expect(try check(text, [signer.jwk], [signer.algorithm]) == .signature)
        }
    }

    @Test("at_hash is made with the hash function of the token's algorithm", arguments: signers)
    func accessTokenHash(_ signer: Signer) throws {
        let token = Array("access-1".utf8)
        let halves: [[UInt8]] = [
            Array(SHA256.hash(data: token)).dropLast(16), Array(SHA384.hash(data: token)).dropLast(24),
            Array(SHA512.hash(data: token)).dropLast(32),
        ]
        let right =
            switch signer.algorithm {
            case .rs256, .ps256, .es256: 0
            case .rs384, .ps384, .es384: 1
            case .rs512, .ps512, .es512, .edDSA, .ed25519: 2
            }
        for (index, half) in halves.enumerated() {
            let text = try signer.token { $0.claims["at_hash"] = "\"\(Base64URL.encode(half))\"" }
            let found = try check(text, [signer.jwk], [signer.algorithm]) { $0.accessToken = Secret("access-1") }
            #expect(found == (index == right ? nil : .accessTokenHash))
        }
    }

    /// The key and the signature of RFC 8037 appendix A.4. Its payload is no JSON object, which is found out after the
    /// signature was verified.
    @Test("The Ed25519 signature of RFC 8037 verifies", arguments: [nil, "x"] as [String?])
    func ed25519Vector(_ change: String?) throws {
        let key: JSONDraft = [
            ("kty", "\"OKP\""), ("crv", "\"Ed25519\""), ("x", "\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\""),
        ]
        let signature =
            "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        let payload = (change ?? "R") + "XhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
        let found = try check("eyJhbGciOiJFZERTQSJ9.\(payload).\(signature)", [key], [.edDSA])
        #expect(found == (change == nil ? .claims : .signature))
    }

    @Test(
        "Keys with coordinates of a wrong length, or that are no points, are not used",
        arguments: signers.filter { !$0.algorithm.rawValue.hasPrefix("R") && !$0.algorithm.rawValue.hasPrefix("P") })
    func unusableKeys(_ signer: Signer) throws {
        let x = try #require(signer.jwk["x"]).filter { $0 != "\"" }
        let bytes = try #require(Base64URL.decode(x))
        var wrong: [[UInt8]] = [[], Array(bytes.dropLast()), bytes + [0], [0] + bytes]
        if signer.jwk["y"] != nil { wrong.append([UInt8](repeating: 0xFF, count: bytes.count)) }
        for value in wrong {
            let key = signer.jwk.with("x", "\"\(Base64URL.encode(value))\"")
            #expect(try check(try signer.token(), [key], [signer.algorithm]) == .key)
        }
    }
}
