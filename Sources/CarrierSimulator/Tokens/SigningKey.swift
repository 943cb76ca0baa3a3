import Crypto
import CryptoExtras
import Primitives

/// A private key with its public half as a JSON Web Key (RFC 7517).
struct SigningKey: Sendable {
    private enum Material: Sendable {
        case rsa(_RSA.Signing.PrivateKey)
        case p256(P256.Signing.PrivateKey)
    }

    private let material: Material
    /// The key's thumbprint (RFC 7638), so that no two keys share it.
    let keyID: String
    /// `kty` and the numbers of the public key; no `kid`, `use` or `alg`.
    let publicNumbers: JSONMembers
    /// The public key as SubjectPublicKeyInfo in PEM, as in a key file.
    let publicPEM: String

    /// - Parameter bits: The modulus's length: 2048, or 1024 for a key that must be refused.
    static func makeRSA(bits: Int = 2048) throws -> SigningKey {
        let key = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: bits))
        let primitives = try key.publicKey.getKeyPrimitives()
        // In the order of RFC 7638 section 3.2, so that the thumbprint is the hash of the serialized object.
        let numbers: JSONMembers = [
            "e": .string(Base64URL.encode(primitives.publicExponent)), "kty": "RSA",
            "n": .string(Base64URL.encode(primitives.modulus)),
        ]
        return SigningKey(material: .rsa(key), numbers: numbers, publicPEM: key.publicKey.pemRepresentation)
    }

    static func makeP256() -> SigningKey {
        let key = P256.Signing.PrivateKey()
        let point = key.publicKey.rawRepresentation
        let numbers: JSONMembers = [
            "crv": "P-256", "kty": "EC", "x": .string(Base64URL.encode(point.prefix(32))),
            "y": .string(Base64URL.encode(point.suffix(32))),
        ]
        return SigningKey(material: .p256(key), numbers: numbers, publicPEM: key.publicKey.pemRepresentation)
    }

    private init(material: Material, numbers: JSONMembers, publicPEM: String) {
        self.material = material
        self.publicNumbers = numbers
        self.keyID = Base64URL.encode(Digest.sha256(numbers.serialized))
        self.publicPEM = publicPEM
    }

    var algorithm: String {
        switch material {
        case .rsa: "RS256"
        case .p256: "ES256"
        }
    }

    /// The key as a key set publishes it.
    /// - Parameter keyID: Nil leaves `kid` out.
    func publicJWK(keyID: String?, use: String = "sig") -> JSONMembers {
        var key = publicNumbers
        key["use"] = .string(use)
        if use == "sig" { key["alg"] = .string(algorithm) }
        if let keyID { key["kid"] = .string(keyID) }
        return key
    }

    /// Signs with the key's own algorithm, or with another RSA algorithm.
    func signature(over bytes: [UInt8], algorithm: String) throws -> [UInt8] {
        switch material {
        case .rsa(let key):
            let signature =
                switch algorithm {
                case "PS256": try key.signature(for: SHA256.hash(data: bytes), padding: .PSS)
                case "RS384": try key.signature(for: SHA384.hash(data: bytes), padding: .insecurePKCS1v1_5)
                case "RS512": try key.signature(for: SHA512.hash(data: bytes), padding: .insecurePKCS1v1_5)
                default: try key.signature(for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5)
                }
            return Array(signature.rawRepresentation)
        case .p256(let key): return Array(try key.signature(for: bytes).rawRepresentation)
        }
    }
}

enum Digest {
    static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// The S256 code challenge of a code verifier (RFC 7636 section 4.2).
    static func codeChallenge(of verifier: String) -> String { Base64URL.encode(sha256(Array(verifier.utf8))) }
}
