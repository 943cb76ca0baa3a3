import Crypto
public import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A key of 256 bits by which private keys and providers' tokens are encrypted in the store.
public struct EncryptionKey: Sendable {
    let key: SymmetricKey
    /// Names the key and tells nothing of it: 16 hexadecimal digits that follow from it.
    public let id: String

    /// Nil unless there are 32 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        key = SymmetricKey(data: bytes)
        let digest = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, info: Array("latchkey key id".utf8), outputByteCount: 8)
        id = digest.withUnsafeBytes { $0.hexadecimal }
    }
}

extension EncryptionKey: Redacted {}
