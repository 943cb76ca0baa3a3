import ArgumentParser
import LatchkeyService

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

    @Option(name: .long, help: "The issuer of the new identity.")
    var issuer: String

    @Option(name: .long, help: "The subject of the new identity.")
    var subject: String

    @Option(
        name: .long,
        help: "The fingerprint of the identity to replace, or its beginning; required if the user has several.")
    var replacing: String?

    func run() async throws {
        var identity = AdminService.NewIdentity(issuer: issuer, subject: subject)
        identity.replacing = replacing
        try await runAdminCommand(options.configuration) { [user, identity, options] admin, _ in
            try await admin.relink(
                user, to: identity, reason: options.reason, applies: options.apply, as: options.output.format.lines)
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

    @Option(name: .long, help: "The number of the user to keep.")
    var into: Int64

    func run() async throws {
        try await runAdminCommand(options.configuration) { [user, into, options] admin, _ in
            try await admin.merge(
                user, into: into, reason: options.reason, applies: options.apply, as: options.output.format.lines)
        }
    }
}

struct EraseUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Erases a user: identities, sessions, tokens and profile.",
        discussion: """
            The audit log keeps the event without personal data. Without --apply the command only prints what it \
            would do.
            """)

    @OptionGroup var options: RepairOptions

    @Argument(help: "The user's number.")
    var user: Int64

    func run() async throws {
        try await runAdminCommand(options.configuration) { [user, options] admin, _ in
            try await admin.erase(user, reason: options.reason, applies: options.apply, as: options.output.format.lines)
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

    @Option(name: .long, help: "The number of the move (default: the last one that was not undone).")
    var move: Int64?

    func run() async throws {
        try await runAdminCommand(options.configuration) { [user, move, options] admin, _ in
            try await admin.undoMigration(
                of: user, move: move, reason: options.reason, applies: options.apply, as: options.output.format.lines)
        }
    }
}
