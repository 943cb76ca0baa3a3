import Crypto
import FoundationEssentials
public import Primitives
package import StorageModel

/// Encrypts private keys for the store with AES-256-GCM. Without an encryption key they are stored in plain form, under
/// the database's own protection.
///
/// The first encryption key encrypts, all of them decrypt, so that they can be changed while private keys encrypted
/// under the old one are in use.
package struct KeyProtection: Sendable {
    /// The first byte of a stored key: the form of the others.
    private enum Form {
        static let plain: UInt8 = 0
        static let encrypted: UInt8 = 1
    }

    /// What a stored key is encrypted with.
    package enum State: Sendable, Hashable {
        /// The first key, or none where there is none.
        case current
        /// Another of the keys.
        case older
        /// None, although there is one: anybody who can write to the database can store such a key.
        case plain
        /// A key that is not there.
        case unreadable
    }

    private let keys: [EncryptionKey]

    package init(keys: [EncryptionKey]) { self.keys = keys }

    package func state(of record: SigningKeyRecord) -> State {
        if isCurrent(record.privateKey, of: record.id) { return .current }
        if record.privateKey.first == Form.plain { return .plain }
        return open(record.privateKey, of: record.id) == nil ? .unreadable : .older
    }

    /// - Parameter id: Bound to the stored form, so that one stored key cannot replace another.
    func protect(_ secret: [UInt8], of id: String) throws -> [UInt8] {
        guard let first = keys.first else { return [Form.plain] + secret }
        return [Form.encrypted] + (try first.key.seal(secret, boundTo: Array(id.utf8)))
    }

    /// The secret; nil if no key decrypts it, or if it is in plain form although there are keys. Anybody who can write
    /// to the database can store one in plain form.
    package func open(_ stored: [UInt8], of id: String) -> [UInt8]? {
        switch stored.first {
        case Form.plain: encrypts ? nil : Array(stored.dropFirst())
        case Form.encrypted: keys.lazy.compactMap { Self.decrypt(stored, of: id, with: $0) }.first
        default: nil
        }
    }

    /// Whether the stored key is not in plain form.
    package static func isEncrypted(_ stored: [UInt8]) -> Bool { stored.first == Form.encrypted }

    /// Whether keys are encrypted; else they are stored in plain form.
    var encrypts: Bool { !keys.isEmpty }

    /// Whether the stored form is the one that ``protect(_:of:)`` makes now.
    func isCurrent(_ stored: [UInt8], of id: String) -> Bool {
        guard let first = keys.first else { return stored.first == Form.plain }
        return stored.first == Form.encrypted && Self.decrypt(stored, of: id, with: first) != nil
    }

    private static func decrypt(_ stored: [UInt8], of id: String, with key: EncryptionKey) -> [UInt8]? {
        key.key.open(Array(stored.dropFirst()), boundTo: Array(id.utf8))
    }
}

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
    /// A key that a secret text stands for, apart for each purpose (HKDF-SHA-256, RFC 5869), which does not reveal the
    /// text.
    package init(derivedFrom text: String, for purpose: String) {
        self = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(text.utf8)), info: Array(purpose.utf8), outputByteCount: 32)
    }

    /// Encrypts content under a new nonce.
    /// - Parameter context: What the content is bound to: it opens only with the same context.
    package func seal(_ content: [UInt8], boundTo context: [UInt8] = []) throws -> [UInt8] {
        let box = try AES.GCM.seal(content, using: self, authenticating: context)
        return Array(box.nonce) + box.ciphertext + box.tag
    }

    /// The content, or nil if it was sealed with another key or context, or was changed.
    package func open(_ sealed: [UInt8], boundTo context: [UInt8] = []) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let content = try? AES.GCM.open(box, using: self, authenticating: context)
        else { return nil }
        return Array(content)
    }
}
