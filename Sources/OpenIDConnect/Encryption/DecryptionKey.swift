import Crypto
import CryptoExtras
public import Primitives

/// A client's private key that decrypts tokens, whose public half providers know: RSA of 2048 to 8192 bits for
/// RSA-OAEP-256, or P-256 for ECDH-ES.
///
/// It prints and reflects as `‹redacted›`.
public struct DecryptionKey: Sendable, Redacted {
    private enum Material: Sendable {
        /// In DER: the type of such keys may not be shared by threads.
        case rsa([UInt8], modulusBytes: Int)
        case p256(P256.KeyAgreement.PrivateKey)
    }

    /// The `kid` of the published half: the configured one, or that of the JSON Web Key, otherwise the key's thumbprint
    /// (RFC 7638).
    public private(set) var keyID: String
    /// The only algorithm that fits the key's type.
    public let algorithm: KeyManagementAlgorithm
    private let material: Material
    private let publicJWK: PublicJWK

    /// Reads a private key: PEM (PKCS #8, PKCS #1 or SEC 1) or one JSON Web Key, whose `kid` is kept.
    ///
    /// - Throws: ``ClientKeyError``.
    public init(parsing text: Secret) throws(ClientKeyError) {
        let read = try PrivateKeyText(text, use: "enc")
        switch read.material {
        case .rsa(let key):
            material = .rsa(Array(key.derRepresentation), modulusBytes: (key.keySizeInBits + 7) / 8)
            publicJWK = PublicJWK(key.publicKey)
            algorithm = .rsaOAEP256
        case .p256(let key):
            guard let agreeing = try? P256.KeyAgreement.PrivateKey(rawRepresentation: key.rawRepresentation) else {
                throw .malformed
            }
            material = .p256(agreeing)
            publicJWK = PublicJWK(key.publicKey)
            algorithm = .ecdhES
        case .ed25519: throw .unsupported
        }
        guard read.algorithm == nil || read.algorithm == .string(algorithm.rawValue) else { throw .unsupported }
        keyID = read.keyID ?? publicJWK.thumbprint
    }

    /// The same key under another `kid`.
    public func named(_ keyID: String) -> DecryptionKey { altered(self) { $0.keyID = keyID } }

    /// Writes the public half as a JSON Web Key (RFC 7517 section 4) for encryption.
    package func writePublicKey(to json: inout JSONObjectWriter) {
        publicJWK.write(to: &json, use: "enc", algorithm: algorithm.rawValue, keyID: keyID)
    }

    /// The content of a token; nil if it was not encrypted for this key, or was changed.
    func open(_ token: EncryptedToken) -> [UInt8]? {
        guard let key = contentKey(of: token) else { return nil }
        let content = try? AES.GCM.open(token.content, using: key, authenticating: token.protectedHeader)
        return content.map(Array.init)
    }

    /// Nil if the token's algorithm is not the key's.
    private func contentKey(of token: EncryptedToken) -> SymmetricKey? {
        switch (material, token.keyManagement) {
        case (.rsa(let der, let modulusBytes), .rsaOAEP256(let encryptedKey)):
            guard encryptedKey.count == modulusBytes else { return nil }
            // Without a good key, a random one: a forger must not see whether the padding was right (RFC 7516 section
            // 11.5).
            let random = SymmetricKey(size: .init(bitCount: token.encryption.keyBytes * 8))
            guard let key = try? _RSA.Encryption.PrivateKey(unsafeDERRepresentation: der),
                let found = try? key.decrypt(encryptedKey, padding: .PKCS1_OAEP_SHA256),
                found.count == token.encryption.keyBytes
            else { return random }
            return SymmetricKey(data: found)
        case (.p256(let key), .ecdhES(let ephemeral, let apu, let apv)):
            guard let secret = try? key.sharedSecretFromKeyAgreement(with: ephemeral) else { return nil }
            return ConcatKDF.key(from: secret, for: token.encryption, apu: apu, apv: apv)
        default: return nil
        }
    }
}

extension DecryptionKey: Hashable {
    /// Compares the public halves and the `kid`s.
    public static func == (left: DecryptionKey, right: DecryptionKey) -> Bool {
        left.keyID == right.keyID && left.publicJWK.thumbprint == right.publicJWK.thumbprint
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(keyID) }
}

/// The key derivation of ECDH-ES: Concat KDF with SHA-256 (RFC 7518 section 4.6.2, NIST SP 800-56A section 5.8.1).
enum ConcatKDF {
    /// The content key, in one round: no key is longer than a hash.
    static func key(
        from secret: SharedSecret, for encryption: ContentEncryption, apu: [UInt8], apv: [UInt8]
    ) -> SymmetricKey {
        var hash = SHA256()
        hash.update(data: bigEndian(1))
        secret.withUnsafeBytes { hash.update(bufferPointer: $0) }
        // In direct key agreement the AlgorithmID is the `enc`.
        for part in [Array(encryption.rawValue.utf8), apu, apv] {
            hash.update(data: bigEndian(UInt32(part.count)))
            hash.update(data: part)
        }
        hash.update(data: bigEndian(UInt32(encryption.keyBytes * 8)))
        return SymmetricKey(data: Array(hash.finalize()).prefix(encryption.keyBytes))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }
}
