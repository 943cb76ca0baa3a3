import Crypto

/// Identifies the origin of a session by half of a SHA-256, because subjects and providers' session ids are not stored
/// with it.
package enum OriginHash {
    /// The hash of the identity that signed in: 16 bytes.
    package static func of(_ identity: Identity) -> [UInt8] { hash("identity", identity.issuer, identity.subject) }

    /// The hash of the session at the provider: 16 bytes.
    package static func of(_ session: ProviderSession) -> [UInt8] { hash("session", session.issuer, session.id) }

    private static func hash(_ texts: String...) -> [UInt8] {
        var hash = SHA256()
        for text in texts {
            hash.update(data: Array(text.utf8))
            hash.update(data: [0])
        }
        return Array(hash.finalize().prefix(16))
    }
}
