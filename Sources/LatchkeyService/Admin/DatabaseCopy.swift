package import LatchkeyConfiguration
import Primitives
import Storage
import StorageModel

/// Copies a whole database into an empty one.
package struct DatabaseCopy: Sendable {
    private let source: DatabaseURL
    private let target: DatabaseURL

    package init(from source: DatabaseURL, to target: DatabaseURL) {
        self.source = source
        self.target = target
    }

    /// The warnings before the copy starts.
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
    /// - Parameter isCancelled: Called from time to time.
    /// - Throws: ``OperatorFailure``; then nothing was copied, unless it says that this is unknown.
    package func run(
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
        let lines = transfer.tables.filter { $0.rows > 0 }.map { "  \($0.name): \($0.rows)" }
        let text = """
            \(target.description) has all of \(source.description): \(rows) rows, read back and compared.
            \(lines.joined(separator: "\n"))
            Start the servers with database.url \(target.description), and put the former database away.
            """
        return DatabaseAdmin.Report(
            text: text.split(separator: "\n").joined(separator: "\n"),
            json: String(decoding: json.finish(), as: UTF8.self), isDone: true)
    }
}
