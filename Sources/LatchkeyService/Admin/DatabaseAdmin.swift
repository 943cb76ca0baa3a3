public import LatchkeyConfiguration
public import Primitives
import Storage
import StorageModel

/// What an operator does with the whole database that a configuration names.
public struct DatabaseAdmin: Sendable {
    /// What came of it.
    public struct Report: Sendable, Hashable {
        /// For people.
        public let text: String
        /// For programs: one object on one line.
        public let json: String
        /// Whether there is nothing left to do.
        public let isDone: Bool
    }

    private let engine: Configuration.Engine
    private let url: DatabaseURL
    private let isNamed: Bool
    private let clock: WallClock

    /// - Parameter isNamed: Whether the operator has named the database; otherwise it is the one of the default.
    public init(_ configuration: Configuration, isNamed: Bool = true, clock: WallClock = .system) {
        engine = configuration.engine
        url = configuration.database.url
        self.isNamed = isNamed
        self.clock = clock
    }

    /// Tells which steps are pending, and changes nothing.
    /// - Throws: ``OperatorFailure``.
    public func pendingSteps() throws -> Report {
        let steps = try storing { () throws(StorageError) in
            switch engine {
            case .sqlite(let sqlite): try DatabaseSteps(of: sqlite)
            case .postgres(let postgres): try DatabaseSteps(of: postgres)
            }
        }
        return report(done: [], pending: steps.pending)
    }

    /// Brings the tables up to date; makes the database if it is not there. Servers may run meanwhile.
    /// - Throws: ``OperatorFailure``.
    public func migrate() async throws -> Report {
        let before: DatabaseSteps
        do throws(StorageError) {
            switch engine {
            case .sqlite(let sqlite): before = try await DatabaseSteps.run(on: sqlite)
            case .postgres(let postgres): before = try DatabaseSteps.run(on: postgres)
            }
        } catch {
            throw OperatorFailure("the database: \(error.reason)")
        }
        return report(done: before.pending, pending: [])
    }

    /// Copies the database into a file, also while servers use it.
    /// - Throws: ``OperatorFailure``, and then there is no new file.
    public func backUp(to path: String, replaces: Bool) throws -> Report {
        let sqlite = try file(or: "pg_dump")
        let backup = try storing { () throws(StorageError) in
            try DatabaseBackup.make(of: sqlite, at: path, replaces: replaces)
        }
        var json = JSONObjectWriter()
        json.add("file", path)
        json.add("bytes", backup.size)
        json.add("steps", backup.steps)
        return Report(
            text: "\(path) has the whole database: \(backup.size) bytes, looked through and found good.",
            json: json.text(), isDone: true)
    }

    /// Puts a backup in the place of the database, and keeps that beside.
    /// - Throws: ``OperatorFailure``, and then the database is as it was.
    public func restore(from path: String) throws -> Report {
        let sqlite = try file(or: "pg_restore")
        let moment = UTCTime.text(clock.now()).filter { $0 != "-" && $0 != ":" }
        let restore = try storing { () throws(StorageError) in
            try DatabaseRestore.run(from: path, to: sqlite, mark: "before-restore-\(moment)")
        }
        let pending = restore.allSteps - restore.steps
        var json = JSONObjectWriter()
        json.add("file", path)
        json.add("former", orNull: restore.former)
        json.add("steps", restore.steps)
        json.add("pending", pending)
        var lines = ["The database is what \(path) has."]
        if let former = restore.former { lines.append("The former one is kept as \(former).") }
        if pending > 0 { lines.append("The next start, or latchkey migrate, brings its tables up to date.") }
        return Report(text: lines.joined(separator: "\n"), json: json.text(), isDone: true)
    }

    /// - Parameter command: What does the same for a PostgreSQL server.
    private func file(or command: String) throws(OperatorFailure) -> SQLiteConfiguration {
        guard case .sqlite(let sqlite) = engine else {
            throw OperatorFailure("database.url is a PostgreSQL server's; use its own \(command)")
        }
        return sqlite
    }

    private func report(done: [String], pending: [String]) -> Report {
        var json = JSONObjectWriter()
        json.add("database", url.description)
        json.add("is_default", !isNamed)
        json.add("done", done)
        json.add("pending", pending)
        let (title, names) = pending.isEmpty ? ("done", done) : ("pending", pending)
        let lines =
            names.isEmpty
            ? ["The tables are those of this version; nothing is to be done."]
            : ["\(names.count) \(names.count == 1 ? "step" : "steps") \(title):"] + names.map { "  \($0)" }
        return Report(text: ([place] + lines).joined(separator: "\n"), json: json.text(), isDone: pending.isEmpty)
    }

    /// Which database it is, and why.
    private var place: String {
        guard !isNamed else { return "Database: \(url)" }
        return "Database: \(url), in the present folder. That is the default; name another with database.url or "
            + "LATCHKEY_DATABASE_URL."
    }

    private func storing<Value>(_ step: () throws(StorageError) -> Value) throws(OperatorFailure) -> Value {
        do throws(StorageError) {
            return try step()
        } catch {
            throw OperatorFailure(error.reason)
        }
    }
}

extension JSONObjectWriter {
    fileprivate consuming func text() -> String { String(decoding: finish(), as: UTF8.self) }
}
