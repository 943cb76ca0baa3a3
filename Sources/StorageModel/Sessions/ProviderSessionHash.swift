import Crypto
import Primitives

/// Recognises a session at a provider without keeping its id: half of a SHA-256.
package struct ProviderSessionHash: Sendable, Hashable {
    package let bytes: [UInt8]

    /// - Parameter id: The provider's own, the `sid` of its ID tokens.
    package init(issuer: String, id: String) { bytes = OriginHash.hash("session", issuer, id) }

    /// From a database column; nil if it is NULL.
    package init?(stored bytes: [UInt8]) {
        guard !bytes.isEmpty else { return nil }
        self.bytes = bytes
    }
}

/// Identifies the origin of a session by half of a SHA-256, because subjects and providers' session ids are not stored
/// with it.
package enum OriginHash {
    /// The hash of the identity that signed in: 16 bytes.
    package static func of(_ identity: Identity) -> [UInt8] { hash("identity", identity.issuer, identity.subject) }

    fileprivate static func hash(_ texts: String...) -> [UInt8] {
        var hash = SHA256()
        for text in texts {
            text.withBytes { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
            withUnsafeBytes(of: UInt8(0)) { hash.update(bufferPointer: $0) }
        }
        return hash.finalize().withUnsafeBytes { Array($0.prefix(16)) }
    }
}
