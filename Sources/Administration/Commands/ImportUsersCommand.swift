import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
import LatchkeyService

struct ImportUsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Adds users of another system, by the identities of their provider.",
        discussion: """
            Each line of the file is a JSON object of at most 64 KiB: issuer and subject, and optionally username, \
            name, given_name, family_name, email, phone_number, postal_code, email_verified, phone_number_verified and \
            created_at. A line whose identity is stored is skipped, so that a file can be given again. Wrong lines go \
            to standard error with their numbers; the others are stored, 1000 in a transaction. Without --apply the \
            command checks the whole file, and changes nothing.
            """)

    @OptionGroup var options: RepairOptions

    @Argument(help: "A file of JSON Lines; - for standard input.", completion: .file())
    var file: String

    @Option(help: "Stop after this many wrong lines.")
    var maxErrors = 100

    func run() async throws {
        let display = ProgressLine()
        try await options.run { [file, options, maxErrors] admin, configuration in
            let input = try InputFile(file)
            let lines = LineReader(limit: ImportedUser.maximumBytes) { () throws(AdministratorError) in
                try input.read()
            }
            let report = try await admin.importUsers(
                from: lines, vouching: configuration.vouchingIssuers, reason: options.reason,
                maximumProblems: maxErrors, applies: options.apply,
                onProgress: { display.show("lines: \($0)") },
                onProblem: { line, problem in
                    display.clear()
                    Console.warn("line \(line): \(problem)")
                })
            display.clear()
            return report
        }
    }
}
