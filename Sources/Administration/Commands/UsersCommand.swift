import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
import LatchkeyService

struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Finds and shows users, and repairs their accounts.",
        discussion: """
            Works on the configured database, also while servers run. A command that changes an account is a dry run \
            without --apply, and is written to the audit log.

            Exit status: 0 if it succeeded, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """,
        subcommands: [
            FindUsersCommand.self, ShowUserCommand.self, ListSessionsCommand.self, EndSessionsCommand.self,
            UndoMigrationCommand.self, RelinkUserCommand.self,
            MergeUsersCommand.self, EraseUserCommand.self, ImportUsersCommand.self,
            ExportAllUsersCommand.self,
        ])
}

/// The options of commands that repair accounts.
struct RepairOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Option(help: "The reason, for the audit log.")
    var reason: String?

    @Flag(help: "Apply the change; without it, the command only prints what it would do.")
    var apply = false

    @OptionGroup var output: FormatOptions

    func run(_ repair: (AdminService, Configuration) async throws -> CommandReport) async throws {
        try await runAdminCommand(configuration, as: output.format, repair)
    }
}

struct FindUsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find", abstract: "Finds at most 20 users by a number, an address or an identity.")

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var selection: AdminService.UserSelection

    @OptionGroup var output: FormatOptions

    func run() async throws {
        try await runAdminCommand(options, as: output.format) { [selection] admin, _ in
            try await admin.find(selection)
        }
    }
}

struct ShowUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows the identities, moves and sessions of an account.")

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "The user's number.")
    var user: Int64

    @Flag(help: "Also show the profile, and subjects instead of fingerprints.")
    var personal = false

    @OptionGroup var output: FormatOptions

    func run() async throws {
        try await runAdminCommand(options, as: output.format) { [user, personal] admin, _ in
            try await admin.show(user, personal: personal)
        }
    }
}

struct ListSessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions",
        abstract: "Lists the sessions of a user, the last seen first.",
        discussion: "The id of a session is not secret: it identifies the session in the audit log.")

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "The user's number.")
    var user: Int64

    @OptionGroup var output: FormatOptions

    func run() async throws {
        try await runAdminCommand(options, as: output.format, ifEmpty: "The user has no session.") { [user] admin, _ in
            try await admin.sessions(of: user)
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

    @Option(help: "The id of the only session to end (default: all).")
    var session: String?

    func run() async throws {
        try await options.run { [user, session, options] admin, _ in
            try await admin.endSessions(of: user, only: session, reason: options.reason, applies: options.apply)
        }
    }
}

struct RelinkUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relink",
        abstract: "Replaces an identity of a user with another one.",
        discussion: """
            The user's sessions end. If the replaced identity signs in again, it becomes a new user. Without --apply \
            the command only prints what it would do.
            """)

    @OptionGroup var options: RepairOptions

    @Argument(help: "The user's number.")
    var user: Int64

    @Option(help: "The issuer of the new identity.")
    var issuer: String

    @Option(parsing: .unconditional, help: "The subject of the new identity.")
    var subject: String

    @Option(help: "The fingerprint of the identity to replace, or its beginning; required if the user has several.")
    var replacing: String?

    func run() async throws {
        try await options.run { [user, issuer, subject, replacing, options] admin, _ in
            try await admin.relink(
                user, toIssuer: issuer, subject: subject, replacing: replacing, reason: options.reason,
                applies: options.apply)
        }
    }
}

struct MergeUsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Merges a user into another, for a person who has two accounts.",
        discussion: """
            The other user gets the identities, and the profile's values that they lack. The merged user is erased and \
            their sessions end. Without --apply the command only prints what it would do.
            """)

    @OptionGroup var options: RepairOptions

    @Argument(help: "The number of the user to merge and erase.")
    var user: Int64

    @Option(help: "The number of the user to keep.")
    var into: Int64

    func run() async throws {
        try await options.run { [user, into, options] admin, _ in
            try await admin.merge(user, into: into, reason: options.reason, applies: options.apply)
        }
    }
}

struct EraseUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Erases a user: identities, sessions, tokens and profile.",
        discussion: """
            The audit log keeps the event without personal data. Then the stored tokens are revoked at their \
            providers, as far as that is possible; a line says what came of it. Without --apply the command only \
            prints what it would do.
            """)

    @OptionGroup var options: RepairOptions

    @Argument(help: "The user's number.")
    var user: Int64

    func run() async throws {
        try await options.run { [user, options] admin, configuration in
            try await admin.erase(user, reason: options.reason, applies: options.apply) {
                await admin.erasing(user, configuration, .ofProgram)
            }
        }
    }
}

struct UndoMigrationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo-migration",
        abstract: "Returns an account to the identity that a port token moved it from.",
        discussion: """
            The user's sessions end, because some may belong to the wrong person. If the identity that loses the \
            account signs in again, it becomes a new user. Port tokens issued before do not move the account again. \
            Without --apply the command only prints what it would do.
            """)

    @OptionGroup var options: RepairOptions

    @Argument(help: "The user's number.")
    var user: Int64

    @Option(help: "The number of the move (default: the last one that was not undone).")
    var move: Int64?

    func run() async throws {
        try await options.run { [user, move, options] admin, _ in
            try await admin.undoMigration(of: user, move: move, reason: options.reason, applies: options.apply)
        }
    }
}
