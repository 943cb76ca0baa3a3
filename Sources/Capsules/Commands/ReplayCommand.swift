import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
import LatchkeyService

struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Checks the refused token of a capsule again, offline, and says which check fails now.",
        discussion: """
            Reads a capsule that `latchkey capsule export` wrote. If a check of an ID token, a logout token or a \
            signed authorization response failed, it makes the checks again with the configuration of today, at the \
            time of the capsule. No request is sent, and no database is opened. What needs the token's text, keys or \
            secrets, such as the signature, is taken from the capsule, and the report says so. Other failures are not \
            replayed: it prints what the capsule says was expected and found.

            With the settings that the capsule recorded, the same version of Latchkey must refuse the token for the \
            same check; otherwise the capsule does not have what decided, and cannot be replayed.

            With --with id_token.clock_skew=120 it says whether the token would pass with another setting.

            Exit status: 0 if it would pass now, 1 if it fails, 64 for wrong options, 66 if the file is no capsule, 69 \
            if this failure cannot be replayed, 78 for an invalid configuration.
            """)

    @Argument(help: "The file that holds the capsule.", completion: .file(extensions: ["json"]))
    var capsule: String

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Changes a setting for this run; can be repeated.",
            discussion: "latchkey check-config --keys lists the names.", valueName: "key=value"))
    var with: [String] = []

    @Option(name: .long, help: "text for people, json for programs.")
    var format = ReportFormat.text

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let changes: SettingArguments
        do throws(SettingArguments.ArgumentError) {
            changes = try SettingArguments(changes: with, of: FeatureList.ofProgram.settings)
        } catch {
            throw failed("--with: \(error)", 64)
        }
        let configuration = try options.load(for: .serve, changes).configuration
        let usual = with.isEmpty ? nil : try options.load(for: .serve).configuration
        guard
            let bytes = try? FileReader.system.contents(of: capsule, limit: CapsuleReplay.maximumBytes).bytes
        else {
            throw failed(
                "\(capsule) cannot be read; name a readable file of at most \(CapsuleReplay.maximumBytes / 1024) KiB",
                66)
        }
        let replay: CapsuleReplay
        do throws(CapsuleReplay.ReplayError) {
            replay = try CapsuleReplay(parsing: bytes)
        } catch {
            throw refused(error)
        }
        let report: ReplayReport
        do throws(CapsuleReplay.ReplayError) {
            report = try ReplayReport(of: replay, with: configuration, usual: usual)
        } catch {
            if error.code == .notReplayable { print(ReplayReport.capsule(of: replay, asJSON: format == .json)) }
            throw refused(error)
        }
        print(format == .json ? report.json + "\n" : report.text, terminator: "")
        if !report.passes { throw ExitCode(1) }
    }

    private func refused(_ refusal: CapsuleReplay.ReplayError) -> ExitCode {
        switch refusal.code {
        case .unreadable, .format:
            return failed("\(capsule) cannot be read as a capsule: \(refusal)", 66)
        case .notReplayable:
            return failed("this failure cannot be replayed: \(refusal)", 69)
        case .configuration:
            return failed("\(refusal); give the configuration of the server with --config", 69)
        }
    }
}
