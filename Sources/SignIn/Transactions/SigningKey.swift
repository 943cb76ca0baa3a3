import Crypto
import OpenIDConnect
import Primitives
import StorageModel

/// The public key of a receipt's signature: a P-256 point, for ES256.
package struct PublicSigningKey: Sendable, Hashable {
    /// The thumbprint of RFC 7638, so that two keys never share it by chance.
    package let id: String
    /// The coordinates in base64url, as in a JSON Web Key (RFC 7518 section 6.2.1).
    package let x: String
    package let y: String

    private let point: [UInt8]

    /// - Parameter point: 64 bytes.
    init(id: String, point: [UInt8]) {
        self.id = id
        self.point = point
        x = Base64URL.encode(point.prefix(32))
        y = Base64URL.encode(point.dropFirst(32))
    }

    /// Whether a signature of 64 bytes (RFC 7518 section 3.4) is valid for the signed bytes.
    func verifies(_ signature: [UInt8], for signed: [UInt8]) -> Bool {
        guard let key = try? P256.Signing.PublicKey(rawRepresentation: point),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: signature)
        else { return false }
        return key.isValidSignature(signature, for: SHA256.hash(data: signed))
    }
}

/// A key that signs receipts, and seals of the audit log.
struct SigningKey: Sendable {
    let id: String
    private let privateKey: P256.Signing.PrivateKey

    /// A new key.
    init() { self.init(P256.Signing.PrivateKey()) }

    /// The key from its 32 bytes; nil if they are invalid.
    init?(rawRepresentation bytes: [UInt8]) {
        guard let key = try? P256.Signing.PrivateKey(rawRepresentation: bytes) else { return nil }
        self.init(key)
    }

    /// A stored key; nil if the protection does not open it, or if it is another one than the row says. Besides the
    /// private key, a row has nothing that is encrypted.
    init?(of record: SigningKeyRecord, _ protection: KeyProtection) {
        guard let bytes = protection.open(record.privateKey, of: record.id), let key = Self(rawRepresentation: bytes),
            key.id == record.id
        else { return nil }
        self = key
    }

    private init(_ key: P256.Signing.PrivateKey) {
        privateKey = key
        id = PublicJWK(key.publicKey).thumbprint
    }

    /// Secret.
    var rawRepresentation: [UInt8] { Array(privateKey.rawRepresentation) }

    var publicJWK: PublicJWK { PublicJWK(privateKey.publicKey) }

    /// 64 bytes.
    var publicPoint: [UInt8] { Array(privateKey.publicKey.rawRepresentation) }

    func sign(_ bytes: [UInt8]) throws -> [UInt8] {
        Array(try privateKey.signature(for: SHA256.hash(data: bytes)).rawRepresentation)
    }
}
