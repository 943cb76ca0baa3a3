import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks everything that sign-ins depend on, and prints what to fix.",
        discussion: """
            Checks the configuration, public_url, API keys and redirect URIs; the database (that it opens, has the \
            tables of this version, is writable and has disk space); and the providers' metadata, keys, clocks and \
            certificates, with the requests of a sign-in. Changes nothing, signs no user in, and prints no secret. The \
            timeouts are those of outbound.timeouts.

            Exit status: 0 without problems (warnings do not count), 1 with problems, 64 for wrong options, 78 for an \
            invalid configuration.
            """)

    @Option(
        help: ArgumentHelp(
            "A mobile network whose carrier to check; may be repeated (default: those of zenkey.issuers).",
            valueName: "digits")) var mccmnc: [String] = []

    @Option(help: "text for people, json for programs.")
    var format = ReportFormat.text

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var settings: SettingOptions

    func run() async throws {
        let loaded: LoadedConfiguration
        do throws(ConfigurationErrors) {
            loaded = try options.read(for: .serve, settings.parsed)
        } catch {
            print(format == .json ? DoctorReport(error).json : DoctorReport(error).text, terminator: "")
            throw ExitCode(78)
        }
        let report = try await reportingFailure(exitCode: 64) {
            try await Doctor.examine(
                loaded.configuration, features: .ofProgram, warnings: loaded.warnings, networks: mccmnc)
        }
        print(format == .json ? report.json : report.text, terminator: "")
        if report.count(.problem) > 0 { throw ExitCode(1) }
    }
}
