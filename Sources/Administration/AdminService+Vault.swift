package import LatchkeyConfiguration
package import LatchkeyService
import Primitives
import SignIn
import Storage
import StorageModel

extension AdminService {
    /// Encrypts every row of stored tokens and claims with the first of `encryption_keys`, in steps: finished
    /// steps remain if it is interrupted. Servers may run at the same time.
    /// - Parameters:
    ///   - deletesUnreadableClaims: Whether claims that none of the keys decrypts are deleted.
    ///   - step: The rows of one step.
    /// - Throws: ``AdministratorError``, also if rows remain that none of the keys decrypts.
    package func rotateVault(
        _ configuration: Configuration, applies: Bool, deletesUnreadableClaims: Bool = false, step: Int = 200,
        progress: (String) -> Void = { _ in }
    ) async throws -> CommandReport {
        let vault = TokenVault(keys: configuration.vaultKeys)
        let claimsVault = ClaimsVault(keys: configuration.vaultKeys)
        guard let current = vault.currentKeyID else {
            throw AdministratorError("there is no key to encrypt with; set encryption_keys")
        }
        let counts = try await store.encryptedRowCounts()
        let status = VaultStatus(counts, vault)
        let total = status.older
        let survey = [
            "rows of tokens and claims with the current key (\(current)): \(status.current);",
            "  with older keys or none: \(total); with keys that are not configured: \(status.lost).",
        ]
        /// The rows before the command, and those that it encrypted again.
        func report(_ lines: [String], encrypted: Int) -> CommandReport {
            CommandReport(text: lines) { json in
                json.add("key", current)
                json.add("current", status.current)
                json.add("older", status.older)
                json.add("unreadable", status.lost)
                json.add("encrypted", encrypted)
                json.add("applied", applies)
            }
        }
        guard applies else {
            let remedy = total == 0 ? [] : ["Nothing was changed. Add --apply to encrypt \(total) again."]
            return report(survey + remedy, encrypted: 0)
        }
        for line in survey { progress(line) }
        var (done, unreadable) = (0, 0)
        // A row that a server changes at the same time is found in the next round.
        for _ in 0..<3 {
            let round = try await rotateOnce(
                vault, claimsVault, current, deletesUnreadableClaims, step: step, earlier: done, of: total, progress)
            done += round.done
            unreadable = round.unreadable
            if round.done == 0 { break }
        }
        let event = event(.vaultRotated) { json in
            json.add("key", current)
            json.add("rows", done)
            json.add("unreadable", unreadable)
        }
        try await store.addAuditEvent(event)
        guard unreadable == 0 else {
            throw AdministratorError(
                "\(done) rows were encrypted again, and \(unreadable) were not: none of encryption_keys "
                    + "decrypts them. Add their key after the first and repeat the command. If the key is lost: tokens "
                    + "are replaced when their users sign in, and --delete-unreadable-claims makes room for new claims")
        }
        return report(
            ["\(done) rows were encrypted again; the older keys can be removed when no server uses them."],
            encrypted: done)
    }

    private func rotateOnce(
        _ vault: TokenVault, _ claimsVault: ClaimsVault, _ current: String, _ deletesUnreadableClaims: Bool, step: Int,
        earlier: Int, of total: Int, _ progress: (String) -> Void
    ) async throws -> (done: Int, unreadable: Int) {
        var (last, done, unreadable) = (Int64(0), 0, 0)
        while true {
            let records = try await store.providerTokens(notUnder: current, after: last, limit: step)
            guard let end = records.last?.serial else { break }
            let rows = records.compactMap { record in
                (try? vault.resealed(record)).map { (record: record, sealed: $0) }
            }
            unreadable += records.count - rows.count
            done += try await store.resealProviderTokens(rows)
            last = end
            progress("encrypted again: \(earlier + done) of \(total)")
        }
        var lastUser = UserID(0)
        while true {
            let records = try await store.claims(notUnder: current, after: lastUser, limit: step)
            guard let end = records.last?.user else { return (done, unreadable) }
            let rows = records.map { record in
                (record: record, sealed: claimsVault.resealed(record.claims, of: record.publicID))
            }.filter { $0.sealed != nil || deletesUnreadableClaims }
            unreadable += records.count - rows.count
            done += try await store.resealClaims(rows)
            lastUser = end
            progress("encrypted again: \(earlier + done) of \(total)")
        }
    }
}
