import ArgumentParser
import LatchkeyService

struct ListSessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "Lists the sessions of a user, the last seen first.",
        discussion: "The id of a session is no secret: it identifies the session in the audit log.")

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "The user's number.")
    var user: Int64

    @OptionGroup var output: FormatOptions

    func run() async throws {
        let notice = output.format == .json ? nil : "The user has no session."
        try await runAdminCommand(options, ifEmpty: notice) { [user, output] admin, _ in
            try await admin.sessions(of: user, as: output.format.lines)
        }
    }
}

struct EndSessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end-sessions",
        abstract: "Ends all sessions of a user, or one of them.",
        discussion: """
            Signs the user out everywhere, such as after a phone was stolen: the tokens of the sessions are refused, \
            and cannot be refreshed. A running server that has a session in its cache accepts it for at most 5 \
            seconds. Without --apply the command only prints what it would do.
            """)

    @OptionGroup var options: RepairOptions

    @Argument(help: "The user's number.")
    var user: Int64

    @Option(name: .long, help: "The id of the only session to end (default: all).")
    var session: String?

    func run() async throws {
        try await runAdminCommand(options.configuration) { [user, session, options] admin, _ in
            try await admin.endSessions(
                of: user, only: session, reason: options.reason, applies: options.apply,
                as: options.output.format.lines)
        }
    }
}
