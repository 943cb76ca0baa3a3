import Crypto
import CryptoExtras
package import Primitives

/// A key pair that stands for a provider's in a replay. It is made for the process, and nothing trusts it.
package struct ReplayKey: Sendable {
    private enum Material: Sendable {
        case rsa(_RSA.Signing.PrivateKey)
        case p256(P256.Signing.PrivateKey)
        case p384(P384.Signing.PrivateKey)
        case p521(P521.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)
    }

    private let material: Material

    /// One for all replays of a process, because RSA keys take long to make.
    private static let rsa = try? _RSA.Signing.PrivateKey(keySize: .bits2048)

    /// - Parameter algorithm: What it signs with. Nil if no key can be made.
    package init?(for algorithm: SigningAlgorithm) {
        switch algorithm {
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512:
            guard let rsa = Self.rsa else { return nil }
            material = .rsa(rsa)
        case .es256: material = .p256(.init())
        case .es384: material = .p384(.init())
        case .es512: material = .p521(.init())
        case .edDSA, .ed25519: material = .ed25519(.init())
        }
    }

    /// The signature of a token's first two parts; nil if the algorithm is not one of the key.
    package func signature(of content: [UInt8], by algorithm: SigningAlgorithm) -> [UInt8]? {
        switch (material, algorithm) {
        case (.rsa(let key), .rs256): return Self.sign(SHA256.hash(data: content), key, .insecurePKCS1v1_5)
        case (.rsa(let key), .rs384): return Self.sign(SHA384.hash(data: content), key, .insecurePKCS1v1_5)
        case (.rsa(let key), .rs512): return Self.sign(SHA512.hash(data: content), key, .insecurePKCS1v1_5)
        case (.rsa(let key), .ps256): return Self.sign(SHA256.hash(data: content), key, .PSS)
        case (.rsa(let key), .ps384): return Self.sign(SHA384.hash(data: content), key, .PSS)
        case (.rsa(let key), .ps512): return Self.sign(SHA512.hash(data: content), key, .PSS)
        case (.p256(let key), .es256):
            return (try? key.signature(for: SHA256.hash(data: content))).map { Array($0.rawRepresentation) }
        case (.p384(let key), .es384):
            return (try? key.signature(for: SHA384.hash(data: content))).map { Array($0.rawRepresentation) }
        case (.p521(let key), .es512):
            return (try? key.signature(for: SHA512.hash(data: content))).map { Array($0.rawRepresentation) }
        case (.ed25519(let key), .edDSA), (.ed25519(let key), .ed25519):
            return (try? key.signature(for: content)).map { Array($0) }
        default: return nil
        }
    }

    private static func sign(
        _ digest: some Digest, _ key: _RSA.Signing.PrivateKey, _ padding: _RSA.Signing.Padding
    ) -> [UInt8]? { (try? key.signature(for: digest, padding: padding)).map { Array($0.rawRepresentation) } }

    /// The members of its JSON Web Key (RFC 7518 section 6) that its type requires.
    package var publicMembers: [(name: String, value: JSONValue?)] {
        switch material {
        case .rsa(let key):
            guard let numbers = try? key.publicKey.getKeyPrimitives() else { return [] }
            return [
                ("kty", "RSA"), ("n", .string(Base64URL.encode(Array(numbers.modulus)))),
                ("e", .string(Base64URL.encode(Array(numbers.publicExponent)))),
            ]
        case .p256(let key): return Self.curve("P-256", Array(key.publicKey.rawRepresentation))
        case .p384(let key): return Self.curve("P-384", Array(key.publicKey.rawRepresentation))
        case .p521(let key): return Self.curve("P-521", Array(key.publicKey.rawRepresentation))
        case .ed25519(let key):
            return [
                ("kty", "OKP"), ("crv", "Ed25519"),
                ("x", .string(Base64URL.encode(Array(key.publicKey.rawRepresentation)))),
            ]
        }
    }

    private static func curve(_ name: String, _ point: [UInt8]) -> [(name: String, value: JSONValue?)] {
        [
            ("kty", "EC"), ("crv", .string(name)), ("x", .string(Base64URL.encode(point.prefix(point.count / 2)))),
            ("y", .string(Base64URL.encode(point.suffix(point.count / 2)))),
        ]
    }

    /// The left half of the hash of an access token, by the hash function of an algorithm: `at_hash` (OpenID Connect
    /// Core section 3.1.3.6).
    package static func accessTokenHash(_ accessToken: Secret, _ algorithm: SigningAlgorithm) -> String {
        let hash = algorithm.hash.bytes(of: accessToken)
        return Base64URL.encode(hash.prefix(hash.count / 2))
    }
}
