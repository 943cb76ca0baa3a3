import Crypto
import CryptoExtras
import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A public key for signatures, ready to verify with, as read from a JSON Web Key (RFC 7517, RFC 7518 section 6).
struct PublicKey: Sendable {
    private enum Material: Sendable {
        case rsa(_RSA.Signing.PublicKey, modulusBytes: Int)
        case p256(P256.Signing.PublicKey)
    }

    let keyID: String?
    /// The one algorithm the key is good for: by its type, and confirmed by its `alg` if it has one.
    let algorithm: SigningAlgorithm
    private let material: Material

    /// The key, or nil if the entry is not a signature key of a kind, size and shape we accept.
    init?(_ entry: JSONObject) {
        guard Self.isForVerifying(entry), let (material, algorithm) = Self.material(of: entry) else { return nil }
        if let named = entry["alg"] {
            guard named.string == algorithm.rawValue else { return nil }
        }
        if let keyID = entry["kid"] {
            guard let text = keyID.string else { return nil }
            self.keyID = text
        } else {
            keyID = nil
        }
        self.algorithm = algorithm
        self.material = material
    }

    func verifies(_ signature: [UInt8], for digest: SHA256.Digest) -> Bool {
        switch material {
        case .rsa(let key, let modulusBytes):
            // RFC 8017 section 8.2.2: as long as the modulus, or no signature.
            guard signature.count == modulusBytes else { return false }
            return key.isValidSignature(
                .init(rawRepresentation: signature), for: digest, padding: .insecurePKCS1v1_5)
        case .p256(let key):
            guard let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature) else { return false }
            return key.isValidSignature(signature, for: digest)
        }
    }

    /// RFC 7517 sections 4.2 and 4.3: neither `use` nor `key_ops` may say otherwise.
    private static func isForVerifying(_ entry: JSONObject) -> Bool {
        if let use = entry["use"], use.string != "sig" { return false }
        if let operations = entry["key_ops"] {
            guard let operations = operations.array, operations.contains(.string("verify")) else { return false }
        }
        return true
    }

    private static func material(of entry: JSONObject) -> (Material, SigningAlgorithm)? {
        switch entry["kty"]?.string {
        case "RSA": rsa(entry).map { ($0, .rs256) }
        case "EC": p256(entry).map { ($0, .es256) }
        default: nil
        }
    }

    /// 2048 to 8192 bits (RFC 7518 section 3.3; the upper bound limits what a signature costs), an odd modulus, and an
    /// odd exponent of 65537 or more in at most 32 bits.
    private static func rsa(_ entry: JSONObject) -> Material? {
        guard let modulus = integer(entry["n"], maximumBytes: 1024), modulus.count >= 256,
            let last = modulus.last, last & 1 == 1,
            let exponentBytes = integer(entry["e"], maximumBytes: 4)
        else { return nil }
        let exponent = exponentBytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard exponent >= 65537, exponent & 1 == 1,
            let key = try? _RSA.Signing.PublicKey(n: modulus, e: exponentBytes),
            key.keySizeInBits >= 2048
        else { return nil }
        return .rsa(key, modulusBytes: modulus.count)
    }

    /// A point of P-256, each coordinate in exactly 32 bytes (RFC 7518 section 6.2.1.2). That it lies on the curve is
    /// checked where the key is made.
    private static func p256(_ entry: JSONObject) -> Material? {
        guard entry["crv"]?.string == "P-256",
            let x = bytes(entry["x"], maximum: 32), x.count == 32,
            let y = bytes(entry["y"], maximum: 32), y.count == 32,
            let key = try? P256.Signing.PublicKey(rawRepresentation: x + y)
        else { return nil }
        return .p256(key)
    }

    /// A Base64urlUInt without its leading zeros (which RFC 7518 section 2 forbids, and some encoders write).
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
