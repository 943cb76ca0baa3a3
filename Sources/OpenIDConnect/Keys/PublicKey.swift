import Crypto
import CryptoExtras
import Primitives

/// A public key that verifies signatures, read from a JSON Web Key (RFC 7517, RFC 7518 section 6).
package struct PublicKey: Sendable {
    /// Why an entry of a key set is not used.
    package enum Refusal: String, Error, Sendable, Hashable {
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
    }

    let keyID: String?
    /// The only algorithm that fits the key's type, and its `alg` if it has one.
    let algorithm: SigningAlgorithm
    private let material: Material

    /// - Throws: Why the entry is not a supported key for signatures.
    init(_ entry: JSONObject) throws(Refusal) {
        guard Self.isForVerifying(entry) else { throw .purpose }
        let (material, algorithm) = try Self.material(of: entry)
        if let named = entry["alg"] {
            guard named.string == algorithm.rawValue else { throw .algorithm }
        }
        keyID = entry["kid"]?.string
        guard keyID != nil || entry["kid"] == nil else { throw .keyID }
        self.algorithm = algorithm
        self.material = material
    }

    /// The size of the modulus, or of the curve.
    var bits: Int {
        switch material {
        case .rsa(let key, _): key.keySizeInBits
        case .p256: 256
        }
    }

    func verifies(_ signature: [UInt8], for digest: SHA256.Digest) -> Bool {
        switch material {
        case .rsa(let key, let modulusBytes):
            // RFC 8017 section 8.2.2: a signature is as long as the modulus.
            guard signature.count == modulusBytes else { return false }
            return key.isValidSignature(.init(rawRepresentation: signature), for: digest, padding: .insecurePKCS1v1_5)
        case .p256(let key):
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: digest)
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

    private static func material(of entry: JSONObject) throws(Refusal) -> (Material, SigningAlgorithm) {
        switch entry["kty"]?.string {
        case "RSA": (try rsa(entry), .rs256)
        case "EC": (try p256(entry), .es256)
        default: throw .kind
        }
    }

    /// 2048 to 8192 bits (RFC 7518 section 3.3; the upper bound limits the cost of a signature), an odd modulus, and an
    /// odd exponent of 65537 or more in at most 32 bits.
    private static func rsa(_ entry: JSONObject) throws(Refusal) -> Material {
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

    /// A point of P-256, each coordinate in exactly 32 bytes (RFC 7518 section 6.2.1.2). The initialiser of the key
    /// checks that the point is on the curve.
    private static func p256(_ entry: JSONObject) throws(Refusal) -> Material {
        guard entry["crv"]?.string == "P-256" else { throw .kind }
        guard let x = bytes(entry["x"], maximum: 32), x.count == 32, let y = bytes(entry["y"], maximum: 32),
            y.count == 32, let key = try? P256.Signing.PublicKey(rawRepresentation: x + y)
        else { throw .numbers }
        return .p256(key)
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
