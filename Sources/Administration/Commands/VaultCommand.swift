import ArgumentParser
import CommandLineSupport
package import LatchkeyConfiguration
package import LatchkeyService
import Primitives
import SignIn
package import Storage
package import StorageModel

struct VaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "vault",
        abstract: "Changes the encryption key of providers' tokens and claims.",
        discussion: """
            Works on the configured database, also while servers run.

            Exit status: 0 if it succeeded, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """,
        subcommands: [RotateVaultCommand.self])
}

struct RotateVaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate",
        abstract: "Encrypts the stored tokens and claims with the first of encryption_keys.",
        discussion: """
            The keys that they are encrypted with must follow the first. If the command is interrupted, finished rows \
            stay as they are; run it again for the rest. The change is written to the audit log. The exit status is \
            also 1 if none of the keys decrypts some rows. Without --apply the command only counts the rows.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Encrypt the rows; without it, the command only counts them.")
    var apply = false

    @Flag(help: "With --apply: delete claims that no key decrypts. Their users' next sign-ins store new ones.")
    var deleteUnreadableClaims = false

    @OptionGroup var output: FormatOptions

    func run() async throws {
        let format = output.format
        try await runAdminCommand(options, as: format) { [apply, deleteUnreadableClaims] admin, configuration in
            try await admin.rotateVault(
                configuration, applies: apply, deletesUnreadableClaims: deleteUnreadableClaims
            ) { line in
                // A program reads standard output.
                if format == .json { Console.warn(line) } else { print(line) }
            }
        }
    }
}

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

/// The claims of a user, encrypted by the use case: the id of the key, a colon, and the content; without a key, JSON.
package typealias StoredClaims = (user: UserID, publicID: String, claims: String)

// The rows that `latchkey vault rotate` encrypts with another key.
extension SQLStore {
    /// How many rows of tokens and of users' claims are encrypted with each key, by the keys' ids. The empty id stands
    /// for claims that are not encrypted. Reads all users.
    package func encryptedRowCounts() async throws(StorageError) -> [String: Int] {
        try await reads.submit { db in
            try ProviderTokensTable.counts(in: db).merging(try UsersTable.claimCounts(in: db), uniquingKeysWith: +)
        }
    }

    /// Rows of provider tokens that are encrypted with another key, in the order they were added, at most `limit`.
    package func providerTokens(
        notUnder keyID: String, after serial: Int64, limit: Int
    ) async throws(StorageError) -> [ProviderTokenRecord] {
        try await reads.submit { db in
            try db.all(
                "\(ProviderTokensTable.select) WHERE serial > ? AND key_id <> ? ORDER BY serial LIMIT ?",
                serial, keyID, Int64(limit), read: ProviderTokenRecord.init)
        }
    }

    /// Stores the same tokens encrypted with another key; skips rows that changed since they were read. Versions stay,
    /// so that a process that has claimed a row can store its result.
    /// - Parameter rows: The rows as they were read, each with its tokens encrypted with another key.
    /// - Returns: How many rows were changed.
    package func resealProviderTokens(
        _ rows: [(record: ProviderTokenRecord, sealed: SealedTokens)]
    ) async throws(StorageError) -> Int {
        try await writes.submit { db in
            try rows.count { row in
                try db.run(
                    "UPDATE provider_tokens SET key_id = ?, content = ? WHERE serial = ? AND version = ?",
                    row.sealed.keyID, row.sealed.content, row.record.serial, row.record.version) > 0
            }
        }
    }

    /// Claims that are encrypted with another key, or not at all, in the order of their users, at most `limit`.
    package func claims(
        notUnder keyID: String, after user: UserID, limit: Int
    ) async throws(StorageError) -> [StoredClaims] {
        try await reads.submit { db in
            try db.all(
                """
                SELECT id, public_id, provider_claims FROM users \
                WHERE id > ? AND provider_claims IS NOT NULL AND \(UsersTable.claimKey) <> ? ORDER BY id LIMIT ?
                """, user, keyID, Int64(limit)
            ) { row in
                (user: UserID(row.number(0)), publicID: try row.text(1), claims: try row.text(2))
            }
        }
    }

    /// Stores the same claims encrypted with another key, or removes those for which `sealed` is nil. Those that
    /// changed since they were read are left as they are.
    /// - Returns: How many were changed.
    package func resealClaims(
        _ rows: [(record: StoredClaims, sealed: String?)]
    ) async throws(StorageError) -> Int {
        try await writes.submit { db in
            try rows.count { row in
                try db.run(
                    "UPDATE users SET provider_claims = ? WHERE id = ? AND provider_claims = ?", row.sealed,
                    row.record.user, row.record.claims) > 0
            }
        }
    }
}
