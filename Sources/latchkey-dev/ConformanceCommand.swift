import ArgumentParser
import CommandLineSupport
import ConformanceKit
import LatchkeyConfiguration
import LatchkeyFeatures

struct ConformanceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conformance",
        abstract: "Shows what the configuration accepts and refuses of a provider that is wrong or hostile.",
        discussion: """
            Puts a simulator in the place of a configured provider, and leaves its other settings as they are. Runs \
            each case on a private server with a scratch database in a temporary folder, which is removed. The \
            configured database is not opened, and only the simulator on 127.0.0.1 gets requests.

            For each case the report has what was sent, what this configuration did, what the specification demands, \
            and where. Violations and loosened cases come first, with the settings because of which they are accepted. \
            The report has its time and the digest of the configuration, as the audit event server.started has it. The \
            kinds zenkey and oidc can be examined.

            Exit status: 0 if everything is refused that must be, 1 if not or if a correct sign-in fails, 64 for \
            wrong options or a provider that cannot be examined, 78 for an invalid configuration.
            """)

    @Option(help: ArgumentHelp("The provider's name in the configuration; zenkey for the carriers.", valueName: "name"))
    var provider: String

    @Option(help: ArgumentHelp("The client (default: the provider's first).", valueName: "id"))
    var client: String?

    @Flag(help: "End with 1 also if something is accepted that should be refused.")
    var strict = false

    @Option(help: "text for people, json for programs.")
    var format = ReportFormat.text

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var settings: SettingOptions

    func run() async throws {
        let configuration = try options.load(for: .serve, settings.parsed).configuration
        let report: KitReport
        do {
            report = try await KitExamination.run(
                configuration, provider: provider, client: client, features: .redirects)
        } catch let failure as KitError {
            throw failed("\(failure)", failure.reason == .usage ? 64 : 1)
        }
        print(format == .json ? report.json : report.text, terminator: "")
        if !report.passes(strictly: strict) { throw ExitCode(1) }
    }
}
