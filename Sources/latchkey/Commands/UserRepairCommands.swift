import ArgumentParser
import LatchkeyService

struct RelinkUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "relink",
        abstract: "Has a user sign in with another identity in the place of one of theirs.",
        discussion: """
            The user's sessions end. The former identity is a new user's when it signs in again. Without --apply it only \
            says what it would do.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "The user's number.")
    var user: Int64

    @Option(name: .long, help: "The issuer of the identity that the user gets.")
    var issuer: String

    @Option(name: .long, help: "Its subject.")
    var subject: String

    @Option(
        name: .long,
        help: "The fingerprint, or its beginning, of the identity that is replaced; needed if there are several.")
    var replacing: String?

    @Option(name: .long, help: "Why, for the audit record.")
    var reason: String?

    @Flag(name: .long, help: "Do it.")
    var apply = false

    func run() async throws {
        var identity = AdminService.NewIdentity(issuer: issuer, subject: subject)
        identity.replacing = replacing
        try await AdminCommand.print(options) { [user, identity, reason, apply] desk in
            try await desk.relink(user, to: identity, reason: reason, applies: apply)
        }
    }
}

struct MergeUsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge",
        abstract: "Puts a user's account into another's: one person who came to have two.",
        discussion: """
            The identities go over, and what the other profile lacks. The account is erased and its sessions end. Without \
            --apply it only says what it would do.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "The number of the user that goes.")
    var user: Int64

    @Option(name: .long, help: "The number of the user that stays.")
    var into: Int64

    @Option(name: .long, help: "Why, for the audit record.")
    var reason: String?

    @Flag(name: .long, help: "Do it.")
    var apply = false

    func run() async throws {
        try await AdminCommand.print(options) { [user, into, reason, apply] desk in
            try await desk.merge(user, into: into, reason: reason, applies: apply)
        }
    }
}

struct EraseUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Erases a user: identities, sessions, tokens and profile.",
        discussion: """
            The audit record keeps that it happened, without personal data. Without --apply it only says what it would do.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "The user's number.")
    var user: Int64

    @Option(name: .long, help: "Why, for the audit record.")
    var reason: String?

    @Flag(name: .long, help: "Do it.")
    var apply = false

    func run() async throws {
        try await AdminCommand.print(options) { [user, reason, apply] desk in
            try await desk.erase(user, reason: reason, applies: apply)
        }
    }
}
