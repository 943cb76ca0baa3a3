import Crypto
import CryptoExtras
package import Primitives

/// A public key that verifies signatures, read from a JSON Web Key (RFC 7517, RFC 7518 section 6).
package struct PublicKey: Sendable {
    /// Why an entry of a key set is not used.
    package enum KeyError: String, Error, Sendable, Hashable {
        /// Its `use` or `key_ops` does not allow verifying.
        case purpose
        /// Its `kty` or `crv` is not supported.
        case kind
        /// Its `alg` does not fit its `kty`.
        case algorithm
        /// Its `kid` is not a text.
        case keyID = "key_id"
        /// Its RSA modulus has fewer than 2048 or more than 8192 bits.
        case size
        /// Its numbers do not make a valid key.
        case numbers
    }

    private enum Material: Sendable {
        case rsa(_RSA.Signing.PublicKey, modulusBytes: Int)
        case p256(P256.Signing.PublicKey)
        case p384(P384.Signing.PublicKey)
        case p521(P521.Signing.PublicKey)
        case ed25519(Curve25519.Signing.PublicKey)
    }

    package let keyID: String?
    /// The algorithms that fit the key's type, or only its `alg` if it has one.
    package let algorithms: [SigningAlgorithm]
    private let material: Material

    /// - Throws: Why the entry is not a supported key for signatures.
    package init(_ entry: JSONObject) throws(KeyError) {
        guard Self.isForVerifying(entry) else { throw .purpose }
        material = try Self.material(of: entry)
        algorithms = try Self.algorithms(of: material, named: entry["alg"])
        keyID = entry["kid"]?.string
        guard keyID != nil || entry["kid"] == nil else { throw .keyID }
    }

    /// The size of the modulus, or of the curve.
    package var bits: Int {
        switch material {
        case .rsa(let key, _): key.keySizeInBits
        case .p256, .ed25519: 256
        case .p384: 384
        case .p521: 521
        }
    }

    /// Whether a signature by an algorithm verifies. False for an algorithm that is not the key's.
    func verifies(_ signature: [UInt8], of signed: SignedContent, by algorithm: SigningAlgorithm) -> Bool {
        guard algorithms.contains(algorithm) else { return false }
        switch (material, signed) {
        // RFC 8017 section 8.2.2: a signature is as long as the modulus.
        case (.rsa(_, let modulusBytes), _) where signature.count != modulusBytes: return false
        case (.rsa(let key, _), .sha256(let digest)):
            return key.isValidSignature(.init(rawRepresentation: signature), for: digest, padding: algorithm.padding)
        case (.rsa(let key, _), .sha384(let digest)):
            return key.isValidSignature(.init(rawRepresentation: signature), for: digest, padding: algorithm.padding)
        case (.rsa(let key, _), .sha512(let digest)):
            return key.isValidSignature(.init(rawRepresentation: signature), for: digest, padding: algorithm.padding)
        case (.p256(let key), .sha256(let digest)):
            return (try? key.isValidSignature(.init(rawRepresentation: signature), for: digest)) ?? false
        case (.p384(let key), .sha384(let digest)):
            return (try? key.isValidSignature(.init(rawRepresentation: signature), for: digest)) ?? false
        case (.p521(let key), .sha512(let digest)):
            return (try? key.isValidSignature(.init(rawRepresentation: signature), for: digest)) ?? false
        case (.ed25519(let key), .whole(let content)):
            return key.isValidSignature(signature, for: content)
        default: return false
        }
    }

    /// Whether `use` and `key_ops`, if there are any, allow verifying (RFC 7517 sections 4.2 and 4.3).
    private static func isForVerifying(_ entry: JSONObject) -> Bool {
        if let use = entry["use"], use.string != "sig" { return false }
        if let operations = entry["key_ops"] {
            guard let operations = operations.array, operations.contains(.string("verify")) else { return false }
        }
        return true
    }

    private static func material(of entry: JSONObject) throws(KeyError) -> Material {
        switch (entry["kty"]?.string, entry["crv"]?.string) {
        case ("RSA", _): try rsa(entry)
        case ("EC", "P-256"): .p256(try numbers { try .init(rawRepresentation: try point(entry, bytes: 32)) })
        case ("EC", "P-384"): .p384(try numbers { try .init(rawRepresentation: try point(entry, bytes: 48)) })
        case ("EC", "P-521"): .p521(try numbers { try .init(rawRepresentation: try point(entry, bytes: 66)) })
        case ("OKP", "Ed25519"): .ed25519(try numbers { try .init(rawRepresentation: try coordinate(entry["x"], 32)) })
        default: throw .kind
        }
    }

    private static func algorithms(
        of material: Material, named name: JSONValue?
    ) throws(KeyError) -> [SigningAlgorithm] {
        let fitting: [SigningAlgorithm] =
            switch material {
            case .rsa: [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
            case .p256: [.es256]
            case .p384: [.es384]
            case .p521: [.es512]
            case .ed25519: [.edDSA, .ed25519]
            }
        guard let name else { return fitting }
        guard let named = name.string.flatMap(SigningAlgorithm.init(rawValue:)), fitting.contains(named) else {
            throw .algorithm
        }
        // Both names are of the same algorithm.
        if case .ed25519 = material { return fitting }
        return [named]
    }

    /// 2048 to 8192 bits (RFC 7518 section 3.3; the upper bound limits the cost of a signature), an odd modulus, and an
    /// odd exponent of 65537 or more in at most 32 bits.
    private static func rsa(_ entry: JSONObject) throws(KeyError) -> Material {
        guard let modulus = integer(entry["n"], maximumBytes: 1024), modulus.count >= 256 else { throw .size }
        guard let last = modulus.last, last & 1 == 1, let exponentBytes = integer(entry["e"], maximumBytes: 4) else {
            throw .numbers
        }
        let exponent = exponentBytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard exponent >= 65537, exponent & 1 == 1, let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponentBytes)
        else { throw .numbers }
        guard key.keySizeInBits >= 2048 else { throw .size }
        return .rsa(key, modulusBytes: modulus.count)
    }

    /// A point, each coordinate in exactly so many bytes (RFC 7518 section 6.2.1.2). The initializer of the key checks
    /// that the point is on the curve.
    private static func point(_ entry: JSONObject, bytes: Int) throws(KeyError) -> [UInt8] {
        try coordinate(entry["x"], bytes) + coordinate(entry["y"], bytes)
    }

    private static func coordinate(_ value: JSONValue?, _ count: Int) throws(KeyError) -> [UInt8] {
        guard let bytes = bytes(value, maximum: count), bytes.count == count else { throw .numbers }
        return bytes
    }

    /// A key that is made of numbers which may not fit together.
    private static func numbers<Key>(_ make: () throws -> Key) throws(KeyError) -> Key {
        guard let key = try? make() else { throw .numbers }
        return key
    }

    /// A Base64urlUInt without leading zeros. RFC 7518 section 2 forbids them, but some encoders write them.
    private static func integer(_ value: JSONValue?, maximumBytes: Int) -> [UInt8]? {
        guard let bytes = bytes(value, maximum: maximumBytes + 1) else { return nil }
        let significant = bytes.drop { $0 == 0 }
        return significant.count <= maximumBytes ? Array(significant) : nil
    }

    private static func bytes(_ value: JSONValue?, maximum: Int) -> [UInt8]? {
        guard let text = value?.string, text.utf8.count <= maximum * 4 / 3 + 2 else { return nil }
        return Base64URL.decode(text)
    }
}

extension SigningAlgorithm {
    /// The padding of an RSA signature.
    fileprivate var padding: _RSA.Signing.Padding {
        switch self {
        case .ps256, .ps384, .ps512: .PSS
        default: .insecurePKCS1v1_5
        }
    }
}
