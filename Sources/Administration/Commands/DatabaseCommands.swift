import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
import LatchkeyService

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
        try await runDatabaseCommand(options, as: format) { [check] admin in
            try await check ? admin.pendingSteps() : admin.migrate()
        }
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
        try await runDatabaseCommand(options, as: format) { [file, force] admin in
            try admin.backUp(to: file, replaces: force)
        }
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
        try await runDatabaseCommand(options, as: format) { [file] admin in try admin.restore(from: file) }
    }
}

/// Runs a command on the configured database and prints its report. Ends the process with 1 if it fails or leaves
/// something pending.
private func runDatabaseCommand(
    _ options: ConfigurationOptions, as format: ReportFormat,
    _ command: (DatabaseAdmin) async throws -> DatabaseAdmin.Report
) async throws {
    let loaded = try options.load(for: .operation)
    let admin = DatabaseAdmin(
        loaded.configuration, features: .ofProgram, isNamed: loaded.origins["database.url"] != nil)
    let report = try await reportingFailure { try await command(admin) }
    print(format == .json ? report.json : report.text)
    guard report.isDone else { throw ExitCode(1) }
}
