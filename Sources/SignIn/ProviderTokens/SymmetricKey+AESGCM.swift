import Crypto

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

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
