package import StorageModel

/// The signing keys, as the sealing of the audit log sees them.
struct SealingKeys: Sendable {
    /// The keys that this process can sign with.
    let usable: [SigningKey]
    /// The ids of those that a seal names as the server's own: no attacker who can only write to the database has them.
    let own: [String]
    /// The id of the key that signs receipts now.
    let chosen: String

    /// The key that seals now: the chosen one, unless only another one is the server's own.
    var signer: SigningKey? {
        let id = own.contains(chosen) ? chosen : own.first ?? chosen
        return usable.first { $0.id == id }
    }
}

/// The server's own keys, found in its store.
package enum OwnSigningKeys {
    /// The thumbprints of the stored keys that only a holder of the encryption keys can have stored. Without encryption
    /// keys these are all.
    package static func thumbprints(
        of records: [SigningKeyRecord], encryptedWith keys: [EncryptionKey]
    ) -> Set<String> {
        let protection = KeyProtection(keys: keys)
        let own = records.filter { record in
            guard protection.isAuthentic(record.privateKey, of: record.id),
                let bytes = protection.open(record.privateKey, of: record.id)
            else { return false }
            // The public key and the id stand beside the private key, and are not encrypted.
            return SigningKey(rawRepresentation: bytes)?.id == record.id
        }
        return Set(own.map(\.id))
    }

    /// Whether there are encrypted keys, and these encryption keys decrypt none of them.
    package static func areUnreadable(_ records: [SigningKeyRecord], encryptedWith keys: [EncryptionKey]) -> Bool {
        let protection = KeyProtection(keys: keys)
        let encrypted = records.filter { KeyProtection.isEncrypted($0.privateKey) }
        return !encrypted.isEmpty && encrypted.allSatisfy { protection.open($0.privateKey, of: $0.id) == nil }
    }
}
