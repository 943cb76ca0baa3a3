package import LatchkeyConfiguration
package import LatchkeyService
package import Primitives
package import Storage
package import StorageModel

/// Migrates, backs up and restores the database of a configuration.
package struct DatabaseAdmin: Sendable {
    package struct Report: Sendable, Hashable {
        /// For people.
        package let text: String
        /// For programs: one object on one line.
        package let json: String
        /// Whether nothing is pending.
        package let isDone: Bool
    }

    private let settings: Configuration.Database
    private let features: FeatureList
    private let isNamed: Bool
    private let clock: WallClock

    /// - Parameter isNamed: Whether the administrator has configured the database; otherwise it is the default.
    package init(
        _ configuration: Configuration, features: FeatureList, isNamed: Bool = true, clock: WallClock = .system
    ) {
        settings = configuration.database
        self.features = features
        self.isNamed = isNamed
        self.clock = clock
    }

    /// Lists the pending migrations.
    package func pendingSteps() throws(AdministratorError) -> Report {
        let steps = try mappingStoreErrors(DatabaseSteps(of: features.database(settings)))
        return report(done: [], pending: steps.pending)
    }

    /// Applies the pending migrations; creates the database if it is missing. Servers may run at the same time.
    package func migrate() async throws(AdministratorError) -> Report {
        let before: DatabaseSteps
        do throws(StorageError) {
            before = try await DatabaseSteps.run(on: features.database(settings))
        } catch {
            throw AdministratorError("the database: \(error.reason)")
        }
        return report(done: before.pending, pending: [])
    }

    /// Copies the database into a file, also while servers use it.
    /// - Throws: ``AdministratorError``; then there is no new file.
    package func backUp(to path: String, replaces: Bool) throws(AdministratorError) -> Report {
        let sqlite = try file(or: "pg_dump")
        let backup = try mappingStoreErrors(DatabaseBackup.make(of: sqlite, at: path, replaces: replaces))
        var json = JSONObjectWriter()
        json.add("file", path)
        json.add("bytes", backup.size)
        json.add("rows", backup.rows)
        json.add("steps", backup.steps)
        return Report(
            text: "\(path) has the whole database: \(backup.rows) rows, \(backup.size) bytes, verified.",
            json: json.text(), isDone: true)
    }

    /// Replaces the database with a backup, and keeps the former database beside it.
    /// - Throws: ``AdministratorError``; then the database is unchanged.
    package func restore(from path: String) throws(AdministratorError) -> Report {
        let sqlite = try file(or: "pg_restore")
        let moment = UTCTime.text(clock.now()).filter { $0 != "-" && $0 != ":" }
        let restore = try mappingStoreErrors(
            DatabaseRestore.run(from: path, to: sqlite, mark: "before-restore-\(moment)"))
        let pending = Schema.version - restore.steps
        var json = JSONObjectWriter()
        json.add("file", path)
        json.add("former", orNull: restore.former)
        json.add("steps", restore.steps)
        json.add("pending", pending)
        var lines = ["The database was replaced with \(path)."]
        if let former = restore.former { lines.append("The former database is kept as \(former).") }
        if pending > 0 { lines.append("The next start, or latchkey migrate, applies the pending migrations.") }
        return Report(text: lines.joined(separator: "\n"), json: json.text(), isDone: true)
    }

    /// - Parameter command: The equivalent for a PostgreSQL database.
    private func file(or command: String) throws(AdministratorError) -> SQLiteConfiguration {
        guard var file = settings.file else {
            throw AdministratorError("database.url is a PostgreSQL database; use \(command)")
        }
        file.featureTables = features.tables
        return file
    }

    private func report(done: [String], pending: [String]) -> Report {
        var json = JSONObjectWriter()
        json.add("database", settings.url.description)
        json.add("is_default", !isNamed)
        json.add("done", done)
        json.add("pending", pending)
        let (title, names) = pending.isEmpty ? ("applied", done) : ("pending", pending)
        let lines =
            names.isEmpty
            ? ["The tables are up to date."]
            : ["\(names.count) \(names.count == 1 ? "migration" : "migrations") \(title):"] + names.map { "  \($0)" }
        return Report(text: ([place] + lines).joined(separator: "\n"), json: json.text(), isDone: pending.isEmpty)
    }

    private var place: String {
        guard !isNamed else { return "Database: \(settings.url)" }
        return "Database: \(settings.url), in the working directory. This is the default; choose another with "
            + "database.url or LATCHKEY_DATABASE_URL."
    }
}

private func mappingStoreErrors<Value>(
    _ call: @autoclosure () throws(StorageError) -> Value
) throws(AdministratorError) -> Value {
    do throws(StorageError) {
        return try call()
    } catch {
        throw AdministratorError(error.reason)
    }
}

extension JSONObjectWriter {
    fileprivate consuming func text() -> String { String(decoding: finish(), as: UTF8.self) }
}

/// Copies a whole database into an empty one.
struct DatabaseCopy {
    let source: DatabaseURL
    let target: DatabaseURL
    let features: FeatureList

    package var warnings: [String] {
        [source, target].compactMap { url in
            guard case .postgres(let postgres) = url, !postgres.isConfidential else { return nil }
            return """
                the connection to \(url.description) may be unencrypted, which exposes the password and the data; add \
                sslmode=verify-full to its URL
                """
        }
    }

    /// Copies the database and reports the progress, one line at a time. Blocks.
    /// - Throws: ``AdministratorError``; then nothing was copied, unless it says that this is unknown.
    package func run(
        onProgress: (String) -> Void, isCancelled: () -> Bool
    ) throws(AdministratorError) -> DatabaseAdmin.Report {
        report(
            try mappingStoreErrors(
                DatabaseTransfer.run(
                    from: database(source), to: database(target), onProgress: { onProgress(Self.line($0)) },
                    isCancelled: isCancelled)))
    }

    private func database(_ url: DatabaseURL) throws(StorageError) -> any DatabaseLocation {
        var settings = Configuration.Database()
        settings.url = url
        return try features.database(settings)
    }

    private static func line(_ progress: DatabaseTransfer.Progress) -> String {
        let verb = progress.isChecking ? "checking" : "copying"
        return "\(verb) \(progress.table): \(progress.rows) of \(progress.total)"
    }

    private func report(_ transfer: DatabaseTransfer) -> DatabaseAdmin.Report {
        let rows = transfer.tables.reduce(0) { $0 + $1.rows }
        var json = JSONObjectWriter()
        json.add("from", source.description)
        json.add("to", target.description)
        json.add("rows", rows)
        json.add("tables", objects: transfer.tables) { table, json in
            json.add("name", table.name)
            json.add("rows", table.rows)
        }
        let lines = transfer.tables.filter { $0.rows > 0 }.map { "  \($0.name): \($0.rows)" }
        let text = """
            \(target.description) has all of \(source.description): \(rows) rows, read back and compared.
            \(lines.joined(separator: "\n"))
            Start the servers with database.url \(target.description), and put the former database away.
            """
        return DatabaseAdmin.Report(
            text: text.split(separator: "\n").joined(separator: "\n"),
            json: json.text(), isDone: true)
    }
}

/// The migrations of a database: those done, and those missing.
package struct DatabaseSteps: Sendable, Hashable {
    /// The completed migrations, by name, in order.
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
