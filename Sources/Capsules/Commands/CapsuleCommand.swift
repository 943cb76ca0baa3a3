import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
package import LatchkeyService
import Primitives

struct CapsuleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capsule",
        abstract: "Prints what was recorded of failed sign-ins.",
        discussion: """
            A failed sign-in leaves a capsule: what was requested, what the provider sent, the provider's metadata and \
            keys, and every check of the ID token with what was expected and found. Secrets and personal data are not \
            in it: a value that no specification and no configuration defines appears as a pseudonym, and equal values \
            of one capsule have the same.

            Exit status: 0 if it succeeded, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """,
        subcommands: [ListCapsulesCommand.self, ShowCapsuleCommand.self, ExportCapsuleCommand.self])
}

struct CapsuleOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions

    @Argument(help: "The correlation id of the sign-in, from the error response or the log.")
    var correlationID: String

    func printCapsule(as format: ReportFormat) async throws {
        try await runAdminCommand(configuration, as: format) { admin, _ in try await admin.capsule(of: correlationID) }
    }
}

struct ListCapsulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Prints the latest capsules, oldest first.",
        discussion: """
            One line each: the time, the correlation id, the provider, the flow, and what failed. With --format json, \
            one capsule on each line.

            Exit status: 0 if the capsules were read (even if there are none), 1 if not, 64 for wrong options, 78 for \
            an invalid configuration.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Option(name: .long, help: "The most capsules, 1 to 1000.")
    var limit = 50

    @OptionGroup var output: FormatOptions

    func run() async throws {
        try await runAdminCommand(options, as: output.format, ifEmpty: "There are no capsules.") { [limit] admin, _ in
            try await admin.capsules(limit: limit)
        }
    }
}

struct ShowCapsuleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints the newest capsule of a sign-in, one value on each line.",
        discussion: """
            Exit status: 0 if there is one, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """)

    @OptionGroup var options: CapsuleOptions

    func run() async throws {
        try await options.printCapsule(as: .text)
    }
}

struct ExportCapsuleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints the newest capsule of a sign-in as one JSON object, for a bug report.",
        discussion: """
            Exit status: 0 if there is one, 1 if not, 64 for wrong options, 78 for an invalid configuration.
            """)

    @OptionGroup var options: CapsuleOptions

    func run() async throws {
        try await options.printCapsule(as: .json)
    }
}

extension AdminService {
    /// The most capsules of one command.
    package static let maximumCapsules = 1000

    /// The latest capsules, oldest first, one line each.
    /// - Throws: ``AdministratorError`` for a limit out of range; `StorageError`.
    package func capsules(limit: Int) async throws -> CommandReport {
        guard (1...Self.maximumCapsules).contains(limit) else {
            throw AdministratorError(.usage, "the limit must be a number from 1 to \(Self.maximumCapsules)")
        }
        var report = CommandReport(text: [], json: [])
        for capsule in try await store.capsules(of: nil, limit: limit).reversed() {
            do throws(AdministratorError) {
                let (summary, json) = (try capsule.summary(), try capsule.oneLine())
                report.text.append(summary)
                report.json.append(json)
            } catch {
                // The others are still of use.
                report.text.append(error.description)
                let unreadable: [(String, JSONValue?)] = [
                    ("correlation_id", .string(capsule.correlationID)), ("unreadable", true),
                ]
                report.json.append(JSONValue.object(of: unreadable).terminalText)
            }
        }
        return report
    }

    /// The newest capsule of a sign-in.
    /// - Throws: ``AdministratorError`` if there is none; `StorageError`.
    package func capsule(of correlationID: String) async throws -> CommandReport {
        guard let capsule = try await store.capsules(of: correlationID, limit: 1).first else {
            throw AdministratorError(
                "there is no capsule of \(correlationID.onOneLine()). A sign-in that succeeded, that must register "
                    + "first, or that was refused before a provider was asked leaves none; more than "
                    + "capsules.per_minute are not kept, and old ones are removed. latchkey capsule list shows the "
                    + "latest.")
        }
        return CommandReport(
            text: [try capsule.summary()] + CapsuleReport(of: try capsule.content(), at: capsule.time).lines,
            json: [try capsule.oneLine()])
    }
}

extension CapsuleRecord {
    fileprivate func content() throws(AdministratorError) -> JSONObject {
        guard let content = (try? JSONValue(parsing: Array(json.utf8)))?.object else {
            throw AdministratorError("the capsule of \(correlationID.onOneLine()) cannot be read")
        }
        return content
    }

    /// The capsule as one JSON object on one line. Written again, because the database may have anything.
    fileprivate func oneLine() throws(AdministratorError) -> String { JSONValue.object(try content()).terminalText }

    /// Time, correlation id, provider, flow, and what failed.
    fileprivate func summary() throws(AdministratorError) -> String {
        let content = try content()
        var words = [UTCTime.text(time), correlationID]
        let request = content["request"]?.object
        if let provider = request?["provider"]?.string { words.append(provider) }
        if let flow = request?["flow"]?.string { words.append("flow=\(flow)") }
        let failure = content["failure"]?.object
        words += ["code", "check", "provider_code", "step"].compactMap { name in
            failure?[name]?.string.map { "\(name)=\($0)" }
        }
        return words.joined(separator: " ").onOneLine()
    }
}

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
