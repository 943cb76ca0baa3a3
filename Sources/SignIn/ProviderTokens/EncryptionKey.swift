import Crypto
import FoundationEssentials
public import Primitives

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

// AES-GCM (NIST SP 800-38D) as everything that is encrypted in the store has it: a random nonce (12 bytes), the
// ciphertext and the tag (16 bytes), one behind the other.
extension SymmetricKey {
    /// Encrypts content under a new nonce.
    /// - Parameter context: What the content is bound to: it opens only with the same context.
    func seal(_ content: [UInt8], boundTo context: [UInt8] = []) throws -> [UInt8] {
        let box = try AES.GCM.seal(content, using: self, authenticating: context)
        return Array(box.nonce) + box.ciphertext + box.tag
    }

    /// The content, or nil if it was sealed with another key or context, or was changed.
    func open(_ sealed: [UInt8], boundTo context: [UInt8] = []) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let content = try? AES.GCM.open(box, using: self, authenticating: context)
        else { return nil }
        return Array(content)
    }
}
