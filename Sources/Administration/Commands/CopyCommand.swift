import ArgumentParser
import CommandLineSupport
import Glibc
import LatchkeyConfiguration
import Primitives

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
        let copy = DatabaseCopy(
            source: try Self.url(from, fromFile, "from"), target: try Self.url(to, toFile, "to"), features: .ofProgram)
        for warning in copy.warnings { Console.warn("warning: \(warning)") }
        let signals = TerminationSignals()
        let display = ProgressLine()
        do {
            let report = try copy.run(onProgress: display.show, isCancelled: { signals.hasReceived })
            display.clear()
            print(format == .json ? report.json : report.text)
        } catch {
            display.clear()
            throw failed("\(error)")
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
private final class ProgressLine {
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
