package import StorageModel

/// The signing keys, as the sealing of the audit log sees them.
struct SealingKeys: Sendable {
    /// The ids of the keys that a seal names as the server's own: no attacker who can only write to the database has
    /// them, if there are encryption keys.
    let own: [String]
    /// The key that signs receipts and seals now.
    let signer: SigningKey
}

/// The server's own keys, found in its store.
package enum OwnSigningKeys {
    /// The thumbprints of the stored keys that only a holder of the encryption keys can have stored. Without encryption
    /// keys these are all.
    package static func thumbprints(
        of records: [SigningKeyRecord], encryptedWith keys: [EncryptionKey]
    ) -> Set<String> {
        let protection = KeyProtection(keys: keys)
        return Set(records.filter { SigningKey(of: $0, protection) != nil }.map(\.id))
    }

    /// Whether there are encrypted keys, and these encryption keys decrypt none of them.
    package static func areUnreadable(_ records: [SigningKeyRecord], encryptedWith keys: [EncryptionKey]) -> Bool {
        let protection = KeyProtection(keys: keys)
        let encrypted = records.filter { KeyProtection.isEncrypted($0.privateKey) }
        return !encrypted.isEmpty && encrypted.allSatisfy { protection.open($0.privateKey, of: $0.id) == nil }
    }
}
