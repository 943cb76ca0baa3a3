import ArgumentParser
import Dispatch
import Foundation
import LatchkeyConfiguration
import LatchkeyService
import Primitives
import Synchronization

struct CopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copies a whole database into an empty one, such as SQLite's into PostgreSQL.",
        discussion: """
            Stop all servers that use either of them first: a database that one has open is refused. Both have to have \
            the tables of this version (latchkey migrate); a target without tables gets them. All rows come over in one \
            transaction with their numbers, are read again and compared, and stored only then: if the command fails or is \
            interrupted, the target is as it was. Sessions, users and keys go on under the new database.

            A URL is sqlite:///relative.db, sqlite:////absolute/path.db or postgres://user:password@host/database; one \
            with a password is better given in a file, because others on this machine see the options of a command. \
            Passwords are never printed.

            Ends with 0 if the target has everything, 1 if not, and 64 if the options are wrong.
            """)

    @Option(help: ArgumentHelp("The database to copy.", valueName: "url"))
    var from: String?

    @Option(help: ArgumentHelp("A file with the URL of the database to copy.", valueName: "file"))
    var fromFile: String?

    @Option(help: ArgumentHelp("The database to copy into.", valueName: "url"))
    var to: String?

    @Option(help: ArgumentHelp("A file with the URL of the database to copy into.", valueName: "file"))
    var toFile: String?

    @Option(name: .long, help: "text for people, json for programs.")
    var format = ReportFormat.text

    func run() async throws {
        let desk = DatabaseCopy(
            from: try Self.url(from, fromFile, "from"), to: try Self.url(to, toFile, "to"))
        for warning in desk.warnings { StandardError.print("warning: \(warning)") }
        let interruption = Interruption()
        let display = ProgressLine()
        do {
            let report = try desk.run(onProgress: display.show, isCancelled: { interruption.hasCome })
            display.clear()
            print(format == .json ? report.json : report.text)
        } catch {
            display.clear()
            StandardError.print("latchkey: \(error)")
            throw ExitCode(1)
        }
    }

    /// - Throws: Ends with 64. The text is never repeated: it may hold a password.
    private static func url(_ text: String?, _ file: String?, _ option: String) throws -> DatabaseURL {
        let secret: Secret
        switch (text, file) {
        case (let text?, nil): secret = Secret(text)
        case (nil, let file?):
            guard let contents = try? FileReader.system.contents(of: file, limit: 8_192) else {
                throw ValidationError("--\(option)-file cannot be read; name a file that holds a database URL")
            }
            let read = String(decoding: contents.bytes, as: UTF8.self)
            secret = Secret(read.trimmingCharacters(in: .whitespacesAndNewlines))
        default: throw ValidationError("give either --\(option) or --\(option)-file")
        }
        do {
            return try DatabaseURL(secret)
        } catch {
            throw ValidationError("--\(option)\(text == nil ? "-file" : ""): \(error)")
        }
    }
}

/// One line on a terminal that is written over again and again; nothing where there is no terminal.
private final class ProgressLine {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private var shownAt: ContinuousClock.Instant?

    func show(_ text: String) {
        let now = ContinuousClock.now
        guard isTerminal, shownAt.map({ now - $0 > .milliseconds(100) }) ?? true else { return }
        shownAt = now
        write("\r\u{1B}[K\(text)")
    }

    func clear() {
        if shownAt != nil { write("\r\u{1B}[K") }
    }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}

/// Notes SIGINT and SIGTERM, so that what is under way can be undone and told of; the second one ends the process at once,
/// which undoes it, too.
private final class Interruption: @unchecked Sendable {
    // @unchecked: `sources` is written once, by the initializer, and read by nobody.

    private let count = Atomic(0)
    /// Kept, because a source that nobody holds is cancelled.
    private var sources: [any DispatchSourceSignal] = []

    init() {
        sources = [SIGINT, SIGTERM].map { number in
            // Without this the default action would come before the source.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { [weak self] in
                guard let self, count.add(1, ordering: .relaxed).newValue > 1 else { return }
                exit(128 + number)
            }
            source.resume()
            return source
        }
    }

    var hasCome: Bool { count.load(ordering: .relaxed) > 0 }
}
