import Crypto

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
