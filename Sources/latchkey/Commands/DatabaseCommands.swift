import ArgumentParser
import LatchkeyConfiguration
import LatchkeyService

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Brings the database's tables up to date, as the start of a server does.",
        discussion: """
            Makes the database if it is not there, and tells which one it is and what was done. Without a configuration \
            that is latchkey.db in the present folder, as it is for latchkey serve. Servers may run meanwhile: no step is \
            done twice. With --check nothing is changed.

            Ends with 0 if the tables are up to date now, 1 if they are not (with --check: if steps are pending) or the \
            database cannot be used, 64 if the options are wrong, and 78 if the configuration has problems.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Flag(name: .long, help: "Only tell which steps are pending.")
    var check = false

    @Option(name: .long, help: "text for people, json for programs.")
    var format = ReportFormat.text

    func run() async throws {
        try await AtTheDatabase.print(options, as: format) { [check] desk in
            try await check ? desk.pendingSteps() : desk.migrate()
        }
    }
}

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies the SQLite database into one file, also while servers use it.",
        discussion: """
            The copy is of one moment, looked through, and for its owner's eyes only. It comes to its name when it is \
            whole and on the disk; if the command fails there is no new file. It holds what the database holds: keep it as \
            safe.

            Ends with 0 if there is a backup, 1 if not (also if there is a file of that name, without --force), 64 if the \
            options are wrong, and 78 if the configuration has problems.
            """)

    @Argument(help: "The file to make.", completion: .file())
    var file: String

    @OptionGroup var options: ConfigurationOptions

    @Flag(name: .long, help: "Replace a file that is there.")
    var force = false

    @Option(name: .long, help: "text for people, json for programs.")
    var format = ReportFormat.text

    func run() async throws {
        try await AtTheDatabase.print(options, as: format) { [file, force] desk in
            try desk.backUp(to: file, replaces: force)
        }
    }
}

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Puts a backup in the place of the SQLite database.",
        discussion: """
            Stop the servers first: while one has the database open, nothing is done. The backup has to be whole, and of \
            this version or an older one. The former database is kept beside, under a name with the moment. What was done \
            since the backup is undone with it: sessions and API keys that were revoked, and users that were erased, are \
            back.

            Ends with 0 if the database is the backup's now, 1 if it is as it was, 64 if the options are wrong, and 78 if \
            the configuration has problems.
            """)

    @Argument(help: "A file that latchkey backup has made.", completion: .file())
    var file: String

    @OptionGroup var options: ConfigurationOptions

    @Option(name: .long, help: "text for people, json for programs.")
    var format = ReportFormat.text

    func run() async throws {
        try await AtTheDatabase.print(options, as: format) { [file] desk in try desk.restore(from: file) }
    }
}

/// Runs a command on the configured database and prints its report; tells in one line why it cannot. Ends the process with
/// 1 where it cannot, or something is left to do.
private enum AtTheDatabase {
    static func print(
        _ options: ConfigurationOptions, as format: ReportFormat,
        _ command: (DatabaseAdmin) async throws -> DatabaseAdmin.Report
    ) async throws {
        let loaded = try options.load(for: .operation)
        let desk = DatabaseAdmin(loaded.configuration, isNamed: loaded.origins["database.url"] != nil)
        do {
            let report = try await command(desk)
            Swift.print(format == .json ? report.json : report.text)
            guard report.isDone else { throw ExitCode(1) }
        } catch let failure as OperatorFailure {
            StandardError.print("latchkey: \(failure)")
            throw ExitCode(1)
        }
    }
}
