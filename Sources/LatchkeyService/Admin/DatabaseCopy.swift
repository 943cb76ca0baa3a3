public import LatchkeyConfiguration
import Primitives
import Storage
import StorageModel

/// Copies a whole database into an empty one of another kind.
public struct DatabaseCopy: Sendable {
    private let source: DatabaseURL
    private let target: DatabaseURL

    public init(from source: DatabaseURL, to target: DatabaseURL) {
        self.source = source
        self.target = target
    }

    /// What is to be said before it begins.
    public var warnings: [String] {
        [source, target].compactMap { url in
            guard case .postgres(let postgres) = url, !postgres.isConfidential else { return nil }
            return """
                what is stored and the password may be read on their way to \(url.description); add sslmode=verify-full \
                to its URL
                """
        }
    }

    /// Copies, and tells how far it is, in a line without its end. Blocks.
    /// - Parameter isCancelled: Asked now and then.
    /// - Throws: ``OperatorFailure``, and then nothing was copied, unless it says that this cannot be told.
    public func run(
        onProgress: (String) -> Void, isCancelled: () -> Bool
    ) throws(OperatorFailure) -> DatabaseAdmin.Report {
        do throws(StorageError) {
            let transfer = try DatabaseTransfer.run(
                from: Self.place(source), to: Self.place(target), onProgress: { onProgress(Self.line($0)) },
                isCancelled: isCancelled)
            return report(transfer)
        } catch {
            throw OperatorFailure(error.reason)
        }
    }

    private static func place(_ url: DatabaseURL) -> DatabaseLocation {
        switch url {
        case .sqlite(let path): .sqlite(SQLiteConfiguration(path: path))
        case .postgres(let url): .postgres(PostgresConfiguration(url: url.secret))
        }
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
        let lines =
            transfer.tables.filter { $0.rows > 0 }.map { "  \($0.name): \($0.rows)" }
        let text = """
            \(target.description) has all that \(source.description) has: \(rows) rows, read again and found the same.
            \(lines.joined(separator: "\n"))
            Start the servers with database.url \(target.description), and put the former database away.
            """
        return DatabaseAdmin.Report(
            text: text.split(separator: "\n").joined(separator: "\n"),
            json: String(decoding: json.finish(), as: UTF8.self), isDone: true)
    }
}
