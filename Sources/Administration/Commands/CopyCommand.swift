import ArgumentParser
import CommandLineSupport
import Glibc
import LatchkeyConfiguration
import LatchkeyService
import Primitives
import Storage
import StorageModel

struct CopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copies a whole database into an empty one, such as SQLite's into PostgreSQL.",
        discussion: """
            Stop all servers of both databases first: a database that a server has open is refused. Both must have the \
            tables of this version (latchkey migrate); a target without tables gets them. All rows are copied in one \
            transaction with their numbers, read back and compared before they are committed: if the command fails or \
            is interrupted, the target does not change. Sessions, users and keys remain valid.

            A URL is sqlite:///relative.db, sqlite:////absolute/path.db or postgres://user:password@host/database. Put \
            a URL with a password in a file, because other users of this machine can see the options of a command. \
            Passwords are never printed.

            Exit status: 0 if the target has all rows, 1 if not, 64 for wrong options.
            """)

    @Option(help: ArgumentHelp("The database to copy.", valueName: "url"))
    var from: String?

    @Option(help: ArgumentHelp("A file that holds the URL of the database to copy.", valueName: "file"))
    var fromFile: String?

    @Option(help: ArgumentHelp("The database to copy into.", valueName: "url"))
    var to: String?

    @Option(help: ArgumentHelp("A file that holds the URL of the database to copy into.", valueName: "file"))
    var toFile: String?

    @Option(help: "text for people, json for programs.")
    var format = ReportFormat.text

    func run() async throws {
        let (source, target) = (try Self.url(from, fromFile, "from"), try Self.url(to, toFile, "to"))
        for url in [source, target] {
            guard case .postgres(let postgres) = url, !postgres.isConfidential else { continue }
            Console.warn(
                """
                warning: the connection to \(url.description) may be unencrypted, which exposes the password and the \
                data; add sslmode=verify-full to its URL
                """)
        }
        let signals = TerminationSignals()
        let display = ProgressLine()
        do throws(StorageError) {
            let copy = try DatabaseTransfer.run(
                from: Self.database(source), to: Self.database(target),
                onProgress: { progress in
                    let verb = progress.isChecking ? "checking" : "copying"
                    display.show("\(verb) \(progress.table): \(progress.rows) of \(progress.total)")
                }, isCancelled: { signals.hasReceived })
            display.clear()
            Self.report(copy, source.description, target.description).print(as: format)
        } catch {
            display.clear()
            throw failed(error.reason)
        }
    }

    private static func database(_ url: DatabaseURL) throws(StorageError) -> any DatabaseLocation {
        var settings = Configuration.Database()
        settings.url = url
        return try FeatureList.ofProgram.database(settings)
    }

    private static func report(_ copy: DatabaseTransfer, _ source: String, _ target: String) -> CommandReport {
        let rows = copy.tables.reduce(0) { $0 + $1.rows }
        let lines =
            ["\(target) has all of \(source): \(rows) rows, read back and compared."]
            + copy.tables.filter { $0.rows > 0 }.map { "  \($0.name): \($0.rows)" }
            + ["Start the servers with database.url \(target), and put the former database away."]
        return CommandReport(text: lines) { json in
            json.add("from", source)
            json.add("to", target)
            json.add("rows", rows)
            json.add("tables", objects: copy.tables) { table, json in
                json.add("name", table.name)
                json.add("rows", table.rows)
            }
        }
    }

    /// - Throws: ValidationError, which ends the process with 64. The URL is never repeated: it may hold a password.
    private static func url(_ text: String?, _ file: String?, _ option: String) throws -> DatabaseURL {
        let secret: Secret
        switch (text, file) {
        case (let text?, nil): secret = Secret(text)
        case (nil, let file?):
            guard let contents = try? FileReader.system.contents(of: file, limit: 8_192)
            else { throw ValidationError("--\(option)-file cannot be read; name a file that holds a database URL") }
            let read = String(decoding: contents.bytes, as: UTF8.self)
            secret = Secret(read.withoutOuterWhitespace)
        default: throw ValidationError("give either --\(option) or --\(option)-file")
        }
        do {
            return try DatabaseURL(secret)
        } catch {
            throw ValidationError("--\(option)\(text == nil ? "-file" : ""): \(error)")
        }
    }
}

/// A progress line that is overwritten on a terminal; prints nothing where there is no terminal.
final class ProgressLine {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private var shownAt: ContinuousClock.Instant?

    func show(_ text: String) {
        let now = ContinuousClock.now
        guard isTerminal, shownAt.map({ now - $0 > .milliseconds(100) }) ?? true else { return }
        shownAt = now
        Console.warnPart("\r\u{1B}[K\(text)")
    }

    func clear() {
        if shownAt != nil { Console.warnPart("\r\u{1B}[K") }
    }
}
