import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
import LatchkeyService
import SignIn

struct ReplayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Runs the failed sign-in or logout of a capsule again, offline, and says which check fails now.",
        discussion: """
            Reads a capsule that `latchkey capsule export` wrote, and runs the steps of the server on it with the \
            configuration of today, at the time of the capsule: discovery, token request, ID token, userinfo; for a \
            redirect, the start or the browser's return; for a logout, the logout token; for a backchannel \
            authentication at a carrier, its start or the notification. The provider's responses are made anew from \
            the capsule, with made-up values in the place of pseudonyms. No request is sent, and no database is \
            opened. What cannot be computed again, such as a signature, a connection that failed or what the database \
            decided, is taken from the capsule, and the report says so.

            With the settings that the capsule recorded, the same version of Latchkey must fail as it did; otherwise \
            the capsule does not have what decided, and cannot be replayed.

            With --with id_token.clock_skew=120 it says whether the sign-in would pass with another setting.

            Exit status: 0 if it would pass now, 1 if it fails, 64 for wrong options, 66 if the file is no capsule, 69 \
            if this failure cannot be replayed, 78 for an invalid configuration.
            """)

    @Argument(help: "The file that holds the capsule.", completion: .file(extensions: ["json"]))
    var capsule: String

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Changes a setting for this run; can be repeated.",
            discussion: "The names are those of latchkey check-config --keys.", valueName: "key=value"))
    var with: [String] = []

    @Option(name: .long, help: "text for people, json for programs.")
    var format = ReportFormat.text

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let changes: SettingArguments
        do throws(SettingArguments.Refusal) {
            changes = try SettingArguments(changes: with)
        } catch {
            Console.warn("latchkey: --with: \(error)")
            throw ExitCode(64)
        }
        let configuration = try options.load(for: .serve, changes).configuration
        let usual = with.isEmpty ? nil : try options.load(for: .serve, SettingArguments()).configuration
        guard
            let bytes = try? FileReader.system.contents(of: capsule, limit: CapsuleReplay.maximumBytes).bytes
        else {
            Console.warn(
                "latchkey: \(capsule) cannot be read; name a readable file of at most "
                    + "\(CapsuleReplay.maximumBytes / 1024) KiB")
            throw ExitCode(66)
        }
        let report: ReplayReport
        do throws(CapsuleReplay.Refusal) {
            report = try await ReplayReport(of: bytes, with: configuration, usual: usual)
        } catch {
            switch error.code {
            case .unreadable, .format:
                Console.warn("latchkey: \(capsule) cannot be read as a capsule: \(error)")
                throw ExitCode(66)
            case .notReplayable:
                Console.warn("latchkey: this failure cannot be replayed: \(error)")
                throw ExitCode(69)
            case .configuration:
                Console.warn("latchkey: \(error); give the configuration of the server with --config")
                throw ExitCode(69)
            }
        }
        print(format == .json ? report.json + "\n" : report.text, terminator: "")
        if !report.passes { throw ExitCode(1) }
    }
}
