import ArgumentParser
import LatchkeyService

struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "Finds and shows users, and mends what went wrong with their accounts.",
        discussion: """
            Works on the configured database, also while a server runs on it. What changes an account is a dry run \
            unless --apply is given, and stands in the audit record. Ends with 0 if it was done, 1 if not, 64 if the \
            options are wrong, and 78 if the configuration is bad.
            """,
        subcommands: [
            FindUsersCommand.self, ShowUserCommand.self, UndoMigrationCommand.self, RelinkUserCommand.self,
            MergeUsersCommand.self, EraseUserCommand.self,
        ])
}

struct FindUsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find", abstract: "Finds users by a number, an address or an identity; at most 20.")

    @OptionGroup var options: ConfigurationOptions

    @Option(name: .customLong("id"), help: "The user's number.")
    var number: Int64?

    @Option(name: .long, help: "The public id, which the API gives as zenkey_sub.")
    var publicID: String?

    @Option(name: .long, help: "The e-mail address, in any case.")
    var email: String?

    @Option(name: .long, help: "The phone number, as it is on record.")
    var phone: String?

    @Option(name: .long, help: "The issuer of an identity; with --subject.")
    var issuer: String?

    @Option(name: .long, help: "The subject of an identity; with --issuer.")
    var subject: String?

    func run() async throws {
        var selection = AdminService.UserSelection()
        selection.number = number
        selection.publicID = publicID
        selection.email = email
        selection.phone = phone
        selection.issuer = issuer
        selection.subject = subject
        try await AdminCommand.print(options) { [selection] desk in try await desk.find(selection) }
    }
}

struct ShowUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows an account: its identities, its moves between them, its sessions.")

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "The user's number.")
    var user: Int64

    @Flag(name: .long, help: "Also the profile, and subjects instead of fingerprints.")
    var personal = false

    func run() async throws {
        try await AdminCommand.print(options) { [user, personal] desk in try await desk.show(user, personal: personal) }
    }
}

struct UndoMigrationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo-migration",
        abstract: "Gives an account back to the identity that a port token moved it from.",
        discussion: """
            The user's sessions end: some may be those of whom the account was moved to by mistake. The identity that \
            loses the account is a new user's when it signs in again. Port tokens issued before do not move the account \
            once more. Without --apply it only says what it would do.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "The user's number.")
    var user: Int64

    @Option(name: .long, help: "The number of the move; the last one that was not undone if it is left out.")
    var move: Int64?

    @Option(name: .long, help: "Why, for the audit record.")
    var reason: String?

    @Flag(name: .long, help: "Do it.")
    var apply = false

    func run() async throws {
        try await AdminCommand.print(options) { [user, move, reason, apply] desk in
            try await desk.undoMigration(of: user, move: move, reason: reason, applies: apply)
        }
    }
}
