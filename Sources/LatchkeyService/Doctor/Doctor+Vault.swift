import LatchkeyConfiguration
import SignIn

extension Doctor {
    /// Whether what is stored encrypted can be decrypted; nothing if there is none.
    /// - Parameter kind: `tokens` or `claims`.
    func examineVault(_ keyCounts: [String: Int], of kind: String) -> [Finding] {
        guard !keyCounts.isEmpty else { return [] }
        let vault = TokenVault(keys: configuration.vaultKeys)
        let status = VaultStatus(keyCounts, vault)
        var findings: [Finding] = []
        if status.lost > 0 {
            findings.append(
                .problem(
                    .database, "vault",
                    "\(status.lost) rows of \(kind) are encrypted with keys that vault.encryption_keys does not have "
                        + "(\(status.lostKeys.joined(separator: ", ")))",
                    fix: "add these keys after the first; docs/providers.md says what to do if they are lost"))
        }
        if status.older > 0 {
            findings.append(
                .warning(
                    .database, "vault",
                    "\(status.older) rows of \(kind) are encrypted with an older key, or not at all",
                    fix: "run latchkey vault rotate --apply before you remove the key"))
        }
        if status.current > 0 {
            findings.append(
                .ok(.database, "vault", "\(status.current) rows of \(kind) are encrypted with the current key"))
        }
        return findings
    }
}
