import ArgumentParser
import CommandLineSupport
import Glibc
import LatchkeyService

struct ExportAllUsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export-all",
        abstract: "Prints the identities and profiles of all users, as import reads them.",
        discussion: """
            One JSON object on each line: an identity with the profile of its user. A user with several identities has \
            a line for each. The output has personal data, and the audit log has that it was printed.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Option(help: "The reason, for the audit log.")
    var reason: String?

    func run() async throws {
        try await runAdminCommand(options) { [reason] admin, _ in
            let count = try await admin.exportUsers(reason: reason) { try Self.print($0) }
            Console.warn("lines: \(count)")
            return CommandReport(text: [], json: [])
        }
    }

    /// All or an error: an export that lacks users must not look complete.
    private static func print(_ text: String) throws(AdministratorError) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                throw AdministratorError("the output cannot be written: \(String(cString: strerror(errno)))")
            }
            rest = rest.dropFirst(count)
        }
    }
}
