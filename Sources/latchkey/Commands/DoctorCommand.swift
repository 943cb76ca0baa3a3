import ArgumentParser
import LatchkeyConfiguration
import LatchkeyService

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Looks at all that sign-ins depend on, and says what to fix.",
        discussion: """
            Looks at the configuration, public_url, API keys and redirect URIs; at the database (does it open, is it of \
            this version, may it be written, is there room); and asks the carriers for their metadata and keys, as a \
            sign-in does, to see whether they can be used, whether the clocks agree, and how long the certificates \
            hold. Changes nothing, signs nobody in, and prints no secret. Each request has the time-out of the \
            configuration (outbound.timeouts).

            Ends with 0 if there is no problem, 1 if there is one (warnings do not count), 64 if the options are wrong, \
            and 78 if the configuration has problems.
            """)

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A mobile network whose carrier to ask about; may be given several times (default: those of zenkey.issuers).",
            valueName: "digits"))
    var mccmnc: [String] = []

    @Option(name: .long, help: "text for people, json for programs.")
    var format = ReportFormat.text

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let loaded: LoadedConfiguration
        do throws(ConfigurationErrors) {
            loaded = try options.read(for: .serve)
        } catch {
            Swift.print(format == .json ? DoctorReport(error).json : DoctorReport(error).text, terminator: "")
            throw ExitCode(78)
        }
        do {
            let report = try await Doctor.examine(loaded.configuration, warnings: loaded.warnings, networks: mccmnc)
            Swift.print(format == .json ? report.json : report.text, terminator: "")
            if report.count(.problem) > 0 { throw ExitCode(1) }
        } catch let failure as OperatorFailure {
            StandardError.print("latchkey: \(failure)")
            throw ExitCode(64)
        }
    }
}
