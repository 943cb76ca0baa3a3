import ArgumentParser
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
            MergeUsersCommand.self, EraseUserCommand.self,
        ])
}

struct FindUsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find", abstract: "Finds at most 20 users by a number, an address or an identity.")

    @OptionGroup var options: ConfigurationOptions

    @Option(name: .customLong("id"), help: "The user's number.")
    var number: Int64?

    @Option(name: .long, help: "The public id, which the API returns as zenkey_sub.")
    var publicID: String?

    @Option(name: .long, help: "The e-mail address, in upper or lower case.")
    var email: String?

    @Option(name: .long, help: "The phone number as stored.")
    var phone: String?

    @Option(name: .long, help: "The issuer of an identity; with --subject.")
    var issuer: String?

    @Option(name: .long, help: "The subject of an identity; with --issuer.")
    var subject: String?

    @OptionGroup var output: FormatOptions

    func run() async throws {
        var selection = AdminService.UserSelection()
        selection.number = number
        selection.publicID = publicID
        selection.email = email
        selection.phone = phone
        selection.issuer = issuer
        selection.subject = subject
        try await runAdminCommand(options) { [selection, output] admin, _ in
            try await admin.find(selection, as: output.format.lines)
        }
    }
}

struct ShowUserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows the identities, moves and sessions of an account.")

    @OptionGroup var options: ConfigurationOptions

    @Argument(help: "The user's number.")
    var user: Int64

    @Flag(name: .long, help: "Also show the profile, and subjects instead of fingerprints.")
    var personal = false

    @OptionGroup var output: FormatOptions

    func run() async throws {
        try await runAdminCommand(options) { [user, personal, output] admin, _ in
            try await admin.show(user, personal: personal, as: output.format.lines)
        }
    }
}
