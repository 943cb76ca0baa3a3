import Crypto
public import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A 256-bit key that encrypts private keys and providers' tokens in the store. It prints as `‹redacted›`.
public struct EncryptionKey: Sendable {
    let key: SymmetricKey
    /// Names the key without revealing it: 16 hexadecimal digits, derived from the key by HKDF.
    public let id: String

    /// A key of 32 bytes; nil for another number.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        key = SymmetricKey(data: bytes)
        let digest = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, info: Array("latchkey key id".utf8), outputByteCount: 8)
        id = digest.withUnsafeBytes { $0.hexadecimal }
    }
}

extension EncryptionKey: Redacted {}
