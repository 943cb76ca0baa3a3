import LatchkeyConfiguration
import LatchkeyService
import SignIn
import StorageModel

extension Doctor {
    /// Whether what is stored encrypted can be decrypted; nothing if there is none.
    /// - Parameter kind: `tokens` or `claims`.
    func examineVault(_ keyCounts: [String: Int], of kind: String) -> [Finding] {
        guard !keyCounts.isEmpty else { return [] }
        let vault = TokenVault(keys: configuration.vaultKeys)
        let status = VaultStatus(keyCounts, vault)
        return [
            status.lost == 0
                ? nil
                : .problem(
                    .database, "vault",
                    "\(status.lost) rows of \(kind) are encrypted with keys that encryption_keys does not have "
                        + "(\(status.lostKeys.joined(separator: ", ")))",
                    fix: "add these keys after the first; docs/providers.md says what to do if they are lost"),
            status.older == 0
                ? nil
                : .warning(
                    .database, "vault",
                    "\(status.older) rows of \(kind) are encrypted with an older key, or not at all",
                    fix: "run latchkey vault rotate --apply before you remove the key"),
            status.current == 0
                ? nil
                : .ok(.database, "vault", "\(status.current) rows of \(kind) are encrypted with the current key"),
        ].compactMap(\.self)
    }

    /// Whether the keys that sign receipts can be decrypted; nothing if there is neither a key of theirs nor one to
    /// encrypt them with.
    func examineSigningKeys(_ records: [SigningKeyRecord]) -> [Finding] {
        let protection = KeyProtection(keys: configuration.keysOfSigningKeys)
        let counts = records.reduce(into: [:]) { $0[protection.state(of: $1), default: 0] += 1 }
        return [
            counts[.unreadable].map {
                .problem(
                    .database, "vault",
                    "\($0) signing keys of receipts are encrypted with keys that encryption_keys does not have",
                    fix: "add these keys after the first; if they are lost, another key signs from the next start")
            },
            counts[.plain].map {
                .warning(
                    .database, "vault",
                    "\($0) signing keys of receipts are not encrypted, so servers neither use nor publish them",
                    fix: "if encryption_keys was set in the last days, wait: servers remove such keys within two days. "
                        + "If not, somebody else can write to the database")
            },
            counts[.older].map {
                .warning(
                    .database, "vault", "\($0) signing keys of receipts are encrypted with an older key",
                    fix: "remove the key when this warning is gone: servers replace such signing keys within three days"
                )
            },
            configuration.keysOfSigningKeys.isEmpty
                ? nil
                : counts[.current].map {
                    .ok(.database, "vault", "\($0) signing keys of receipts are encrypted with the current key")
                },
        ].compactMap(\.self)
    }
}
