import LatchkeyConfiguration
import LatchkeyService
package import Primitives
import SignIn
package import Storage
package import StorageModel

/// The state of a database, read without changing it.
package struct DatabaseExamination: Sendable, Hashable {
    /// The version of its tables, 0 without tables; the next start brings them up to date. Nil without a database,
    /// which the first start makes.
    package private(set) var steps: Int?
    /// The free bytes on its disk; nil for PostgreSQL.
    package let freeBytes: UInt64?
    /// How many rows of provider tokens are encrypted with each key.
    package private(set) var tokenKeys: [String: Int] = [:]
    /// How many users' claims are encrypted with each key.
    package private(set) var claimKeys: [String: Int] = [:]
    /// The keys that sign receipts.
    package private(set) var signingKeys: [SigningKeyRecord] = []
    /// How many identities have no user any more.
    package private(set) var orphanedIdentities: Int64 = 0
    /// The condition of an identity without a user. PostgreSQL compares each identity with all users for NOT IN.
    package static let isOrphaned = "NOT EXISTS (SELECT 1 FROM users WHERE users.id = identities.user_id)"
    /// The bindings of carriers' issuers; nil without tables.
    package private(set) var issuers: KnownIssuers?

    /// Reads the database, which servers may be using. Blocks.
    package init(_ place: any DatabaseLocation) throws(StorageError) {
        let examination = Self(freeBytes: try place.freeBytes())
        let found = try place.read { missing, db in
            var found = examination
            guard missing.count < Schema.migrations.count else {
                found.steps = db.isPostgres ? nil : 0
                return found
            }
            found.steps = Schema.version(lacking: missing)
            found.tokenKeys = try ProviderTokensTable.counts(in: db)
            found.claimKeys = try UsersTable.claimCounts(in: db)
            found.signingKeys = try SigningKeysTable.all(in: db)
            found.orphanedIdentities = try db.number(
                "SELECT count(*) FROM identities WHERE \(Self.isOrphaned)")
            found.issuers = try IssuerBindingsTable.all(in: db)
            return found
        }
        self = found ?? examination
    }

    private init(freeBytes: UInt64?) { self.freeBytes = freeBytes }
}

extension Doctor {
    func examineDatabase(_ result: Result<DatabaseExamination, StorageError>) -> [Finding] {
        let subject = configuration.database.url.path ?? configuration.database.url.description
        let examination: DatabaseExamination
        do throws(StorageError) {
            examination = try result.get()
        } catch {
            let isFile = configuration.database.url.path != nil
            return [.problem(.database, subject, error.reason, fix: error.code.remedy(isFile: isFile))]
        }
        let library = configuration.database.url.path == nil ? nil : SQLiteLibrary.current.finding
        let findings = [
            examination.finding(subject), examination.orphanFinding(subject), library, examination.roomFinding(subject),
        ]
        return findings.compactMap(\.self)
            + examineVault(examination.tokenKeys, of: "tokens") + examineVault(examination.claimKeys, of: "claims")
            + examineSigningKeys(examination.signingKeys)
    }

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

extension StorageError.Code {
    fileprivate func remedy(isFile: Bool) -> String {
        switch self {
        case .unavailable where isFile:
            "check the path in database.url and that the user of this process can write there"
        case .unavailable: "check that the database server runs, and the host, user and password in database.url"
        case .full: isFile ? "free disk space" : "free disk space on the database server"
        case .corrupt:
            "name another \(isFile ? "file" : "database") in database.url, run the version that wrote it, or restore a "
                + "backup"
        case .conflict, .overloaded, .closed: "try again"
        }
    }
}

extension SQLiteLibrary {
    /// Nil for a version without the fault.
    var finding: DoctorReport.Finding? {
        guard hasWALResetFault else { return nil }
        return .warning(
            .database, "SQLite \(version)",
            "has a fault that can damage a database to which several processes write at once",
            fix: "run one server on the file, and update SQLite to 3.51.3 or later")
    }
}

extension DatabaseExamination {
    fileprivate func finding(_ subject: String) -> DoctorReport.Finding {
        guard let steps else { return .ok(.database, subject, "does not exist yet; the first start creates it") }
        let tables =
            steps == Schema.version ? ", and its tables are up to date" : "; the next start migrates its tables"
        return .ok(.database, subject, "opens\(tables) (\(steps) of \(Schema.version) migrations)")
    }

    /// Nil without such identities, which a tool leaves that removes users without the rules of the tables.
    fileprivate func orphanFinding(_ subject: String) -> DoctorReport.Finding? {
        guard orphanedIdentities > 0 else { return nil }
        return .problem(
            .database, subject, "\(orphanedIdentities) identities have no user, and sign nobody in",
            fix: "if these users were meant to be removed, run this in the database, and they can sign in as new ones: "
                + "DELETE FROM identities WHERE \(Self.isOrphaned)")
    }

    /// Nil if the disk is another machine's.
    fileprivate func roomFinding(_ subject: String) -> DoctorReport.Finding? {
        guard let freeBytes else { return nil }
        let mebibytes = freeBytes >> 20
        let message = "\(mebibytes) MiB free on its disk"
        let fix = "free disk space, or move the database"
        if mebibytes < 64 { return .problem(.database, subject, message, fix: fix) }
        if mebibytes < 512 { return .warning(.database, subject, message, fix: fix) }
        return .ok(.database, subject, message)
    }
}
