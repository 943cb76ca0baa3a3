import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
import LatchkeyService
import Primitives
package import Storage
package import StorageModel

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Migrates the database's tables to this version, as the start of a server does.",
        discussion: """
            Creates the database if it does not exist, and prints its URL and the applied migrations. Without a \
            configuration the database is latchkey.db in the working directory, as for latchkey serve. Servers may run \
            at the same time: no migration is applied twice. With --check nothing is changed.

            Exit status: 0 if the tables are up to date, 1 if they are not (with --check: if migrations are pending) \
            or the database cannot be used, 64 for wrong options, 78 for an invalid configuration.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Only list the pending migrations.")
    var check = false

    @Option(help: "text for people, json for programs.")
    var format = ReportFormat.text

    func run() async throws {
        let loaded = try options.load(for: .operation)
        let before: DatabaseSteps
        do throws(StorageError) {
            let place = try FeatureList.ofProgram.database(loaded.configuration.database)
            before = check ? try DatabaseSteps(of: place) : try await DatabaseSteps.run(on: place)
        } catch {
            throw failed(check ? error.reason : "the database: \(error.reason)")
        }
        let (done, pending) = check ? ([], before.pending) : (before.pending, [])
        let url = loaded.configuration.database.url.description
        let isDefault = loaded.origins["database.url"] == nil
        let place =
            "Database: \(url)"
            + (isDefault
                ? ", in the working directory. This is the default; choose another with database.url or "
                    + "LATCHKEY_DATABASE_URL." : "")
        let (title, names) = pending.isEmpty ? ("applied", done) : ("pending", pending)
        let lines =
            names.isEmpty
            ? ["The tables are up to date."]
            : ["\(names.count) \(names.count == 1 ? "migration" : "migrations") \(title):"] + names.map { "  \($0)" }
        CommandReport(text: [place] + lines) { json in
            json.add("database", url)
            json.add("is_default", isDefault)
            json.add("done", done)
            json.add("pending", pending)
        }
        .print(as: format)
        guard pending.isEmpty else { throw ExitCode(1) }
    }
}

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies the SQLite database into one file, also while servers use it.",
        discussion: """
            The copy is a consistent snapshot, verified, and readable by its owner only. The file appears when it is \
            complete and on the disk; if the command fails there is no new file. A backup holds the same personal data \
            as the database: protect it equally.

            Exit status: 0 if the backup was made, 1 if not (also if the file exists, without --force), 64 for wrong \
            options, 78 for an invalid configuration.
            """)

    @Argument(help: "The file to create.", completion: .file())
    var file: String

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Replace an existing file.")
    var force = false

    @Option(help: "text for people, json for programs.")
    var format = ReportFormat.text

    func run() async throws {
        let backup = try onDatabaseFile(options, or: "pg_dump") { database throws(StorageError) in
            try DatabaseBackup.make(of: database, at: file, replaces: force)
        }
        CommandReport(
            text: ["\(file) has the whole database: \(backup.rows) rows, \(backup.size) bytes, verified."]
        ) { json in
            json.add("file", file)
            json.add("bytes", backup.size)
            json.add("rows", backup.rows)
            json.add("steps", backup.steps)
        }
        .print(as: format)
    }
}

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Replaces the SQLite database with a backup.",
        discussion: """
            Stop the servers first: while a server has the database open, the command refuses. The backup must be \
            complete, and of this version or an older one. The former database is kept beside it, with the time in its \
            name. All changes since the backup are lost: revoked sessions and API keys and erased users are back.

            Exit status: 0 if the database was replaced, 1 if it is unchanged, 64 for wrong options, 78 for an invalid \
            configuration.
            """)

    @Argument(help: "A file made by latchkey backup.", completion: .file())
    var file: String

    @OptionGroup var options: ConfigurationOptions

    @Option(help: "text for people, json for programs.")
    var format = ReportFormat.text

    func run() async throws {
        let moment = UTCTime.text(WallClock.system.now()).filter { $0 != "-" && $0 != ":" }
        let restore = try onDatabaseFile(options, or: "pg_restore") { database throws(StorageError) in
            try DatabaseRestore.run(from: file, to: database, mark: "before-restore-\(moment)")
        }
        let pending = Schema.version - restore.steps
        var lines = ["The database was replaced with \(file)."]
        if let former = restore.former { lines.append("The former database is kept as \(former).") }
        if pending > 0 { lines.append("The next start, or latchkey migrate, applies the pending migrations.") }
        CommandReport(text: lines) { json in
            json.add("file", file)
            json.add("former", orNull: restore.former)
            json.add("steps", restore.steps)
            json.add("pending", pending)
        }
        .print(as: format)
    }
}

/// Runs a command on the configured database. Ends the process with 1 if it fails.
/// - Parameter equivalent: The command for a database on a PostgreSQL server.
private func onDatabaseFile<Value>(
    _ options: ConfigurationOptions, or equivalent: String,
    _ command: (SQLiteConfiguration) throws(StorageError) -> Value
) throws -> Value {
    let database = try options.load(for: .operation).configuration.database
    guard let file = database.file else {
        throw failed("database.url is a PostgreSQL database; use \(equivalent)")
    }
    do throws(StorageError) {
        return try command(file)
    } catch {
        throw failed(error.reason)
    }
}

/// The migrations of a database: those done, and those missing.
package struct DatabaseSteps: Sendable, Hashable {
    package let done: [String]
    /// The migrations that the next start, or ``run(on:)``, runs.
    package let pending: [String]

    /// Reads the database, which servers may be using. Blocks.
    package init(of place: any DatabaseLocation) throws(StorageError) {
        let names = (try place.read { missing, _ in missing } ?? Schema.migrations).map(\.name)
        pending = names
        done = Schema.migrations.map(\.name).filter { !names.contains($0) }
    }

    /// Runs the missing migrations. Servers may be running: no migration runs twice. An SQLite database is made if it
    /// is missing; one on a PostgreSQL server must exist.
    /// - Returns: The state before.
    /// - Throws: ``StorageError``; completed migrations of an SQLite database stay.
    package static func run(on place: any DatabaseLocation) async throws(StorageError) -> DatabaseSteps {
        let before = try DatabaseSteps(of: place)
        try await place.open(observer: nil).close()
        return before
    }
}
