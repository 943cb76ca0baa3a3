import ArgumentParser
import CommandLineSupport
package import LatchkeyConfiguration
package import LatchkeyService
package import OpenIDConnect
import OutboundHTTP
package import Primitives
import SignIn
import StorageModel

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

/// Checks everything that sign-ins depend on: the configuration, the database and the providers. Changes nothing and
/// signs no user in.
package struct Doctor: Sendable {
    typealias Finding = DoctorReport.Finding

    let configuration: Configuration
    let features: FeatureList
    let networks: [MCCMNC]
    let http: any HTTPClient
    let clock: WallClock
    private let warnings: [ConfigurationProblem]

    /// - Parameters:
    ///   - networks: The networks whose carriers are checked; if empty, those of `zenkey.issuers`.
    ///   - http: Should inspect certificates.
    package init(
        _ configuration: Configuration, features: FeatureList, warnings: [ConfigurationProblem] = [],
        networks: [MCCMNC] = [], http: any HTTPClient, clock: WallClock = .system
    ) {
        self.configuration = configuration
        self.features = features
        self.warnings = warnings
        self.networks = networks.isEmpty ? configuration.zenkey.issuers.keys.sorted { $0.text < $1.text } : networks
        self.http = http
        self.clock = clock
    }

    /// Examines over the network with the configured limits.
    /// - Throws: ``AdministratorError`` for an invalid network; ``LatchkeyStartError`` if no requests can be made.
    package static func examine(
        _ configuration: Configuration, features: FeatureList, warnings: [ConfigurationProblem], networks: [String]
    ) async throws -> DoctorReport {
        let known = try networks.map { text in
            guard let network = MCCMNC(text) else {
                throw AdministratorError("--mccmnc is not five or six digits")
            }
            return network
        }
        var outbound = configuration.outboundHTTP
        outbound.inspectsCertificates = true
        let client = try LatchkeyService.makeClient(outbound)
        let report = await Doctor(
            configuration, features: features, warnings: warnings, networks: known, http: client
        ).examine()
        await client.shutdown()
        return report
    }

    package func examine() async -> DoctorReport {
        let ours = examineConfiguration() + [await examinePublicURL()] + examineTLS() + examineRedirectURIs()
        let examined = Result { () throws(StorageError) in
            try DatabaseExamination(features.database(configuration.database))
        }
        let providers = await examineCarriers(examined) + examineProviders()
        return DoctorReport(ours + examineDatabase(examined) + providers + (await examineFeatures()))
    }

    private func examineFeatures() async -> [Finding] {
        var findings: [Finding] = []
        for feature in features.features {
            findings += await feature.examine(configuration, http).map { subject, message, remedy in
                remedy.map { .warning(.features, subject, message, fix: $0) } ?? .ok(.features, subject, message)
            }
        }
        return findings
    }

    private func examineConfiguration() -> [Finding] {
        let warned = warnings.map { warning in
            let area: Finding.Area = warning.key.hasPrefix("api_keys") ? .apiKeys : .configuration
            return Finding.warning(area, warning.key, warning.reason + warning.place, fix: warning.remedy)
        }
        let keys = configuration.apiKeys.count
        return [.ok(.configuration, "", "it is valid and complete")] + warned + [
            keys > 0
                ? .ok(.apiKeys, "", keys == 1 ? "1 key" : "\(keys) keys")
                : configuration.hasBrowserSignIns
                    ? .ok(.apiKeys, "", "none: browsers can sign in, but no app can call the API")
                    : .problem(.apiKeys, "", "there is no API key, so no app can call the API", fix: "set api_keys")
        ]
    }

    private func examinePublicURL() async -> Finding {
        guard let url = configuration.publicURL else {
            // A server on a loopback address takes that address as its own.
            let hosts = configuration.http.hosts
            guard hosts.contains(where: { $0 == "localhost" || IPAddress($0)?.isLoopback == true }) else {
                return .warning(
                    .publicURL, "", "is not set, so no sign-in by redirect can start",
                    fix: "set it to the https URL of this server if users sign in with browsers")
            }
            return .ok(
                .publicURL, "",
                "is not set, so only browsers on this machine can sign in by redirect: set it to the https URL of a "
                    + "reverse proxy if there is one")
        }
        guard url.scheme == .https else {
            return .warning(
                .publicURL, url.text, "is plain http, so only this machine can use it",
                fix: "set public_url to the https URL of this server, or of its reverse proxy")
        }
        let base = url.text.hasSuffix("/") ? String(url.text.dropLast()) : url.text
        guard let health = EndpointURL(base + "/healthz", policy: .httpsOnly) else {
            return .problem(.publicURL, url.text, "is too long", fix: "use a shorter URL")
        }
        let fix =
            "start the server, and check that DNS and any reverse proxy lead to it; ignore this if only clients can "
            + "reach it"
        let request = OutboundRequest(method: .get, url: health, timeout: .seconds(5), maximumBodyBytes: 65_536)
        do throws(OutboundError) {
            let status = try await http.send(request).status
            guard status == 200 else {
                return .warning(.publicURL, url.text, "/healthz answers \(status) and not 200", fix: fix)
            }
            let callbacks = configuration.paths.flatMap { features.callbackPaths(at: $0, in: configuration) }
                .map { base + $0 }.joined(separator: ", ")
            return .ok(
                .publicURL, url.text,
                "/healthz answers"
                    + (callbacks.isEmpty
                        ? "" : "; register \(callbacks) with the providers for sign-ins by redirect"))
        } catch {
            return .warning(.publicURL, url.text, "cannot be reached from this machine (\(error.reason))", fix: fix)
        }
    }

    /// The configuration's loader warns of clients without redirect URIs.
    private func examineRedirectURIs() -> [Finding] {
        configuration.allClients.flatMap { client -> [Finding] in
            let doubtful = client.redirectURIs.compactMap { uri -> Finding? in
                doubt(about: uri).map {
                    .warning(.redirectURIs, client.id.text, "\(uri) \($0.reason)", fix: $0.remedy)
                }
            }
            guard doubtful.isEmpty, !client.redirectURIs.isEmpty else { return doubtful }
            return [.ok(.redirectURIs, client.id.text, "\(client.redirectURIs.count) registered")]
        }
    }
}

private func doubt(about uri: String) -> (reason: String, remedy: String)? {
    let scheme = uri.prefix { $0 != ":" }.lowercased()
    switch scheme {
    case "https": return nil
    case "http":
        return (
            "is plain HTTP on this machine",
            "register an https URI or one with the app's own scheme, unless this is for development"
        )
    default:
        guard !scheme.contains(".") else { return nil }
        // RFC 8252 section 7.1.
        return (
            "has a scheme that any other app can register too",
            "use a reversed domain name of yours, such as com.example.app:/callback, or an https URL"
        )
    }
}

extension DoctorReport {
    /// The problems of an invalid configuration, with which nothing else can be checked.
    package init(_ errors: ConfigurationErrors) {
        var findings = errors.problems.map { problem in
            let subject = problem.key.isEmpty ? "configuration file" : problem.key
            return Finding.problem(.configuration, subject, problem.reason + problem.place, fix: problem.remedy)
        }
        if errors.omitted > 0 {
            findings.append(.problem(.configuration, "", "there are \(errors.omitted) more", fix: "fix these first"))
        }
        self.init(findings)
    }
}

package struct DoctorReport: Sendable {
    /// One finding. Never holds a secret.
    package struct Finding: Sendable, Hashable {
        package enum Severity: String, Sendable, CaseIterable {
            case ok
            /// Works, but is unsafe or will fail soon.
            case warning
            /// Sign-ins fail because of it.
            case problem
        }

        package enum Area: String, Sendable, CaseIterable {
            case configuration
            case publicURL = "public_url"
            case apiKeys = "api_keys"
            case redirectURIs = "redirect_uris"
            case database
            case discovery
            case metadata
            case keys
            case endpoints
            case clock
            case certificates
            case features
        }

        package let severity: Severity
        package let area: Area
        /// The subject, such as a client, a network or a host; may be empty.
        package let subject: String
        package let message: String
        /// What to do; nil if nothing.
        package let remedy: String?

        static func ok(_ area: Area, _ subject: String, _ message: String) -> Finding {
            Finding(severity: .ok, area: area, subject: subject, message: message, remedy: nil)
        }

        static func warning(_ area: Area, _ subject: String, _ message: String, fix: String) -> Finding {
            Finding(severity: .warning, area: area, subject: subject, message: message, remedy: fix)
        }

        static func problem(_ area: Area, _ subject: String, _ message: String, fix: String) -> Finding {
            Finding(severity: .problem, area: area, subject: subject, message: message, remedy: fix)
        }
    }

    package let findings: [Finding]

    package init(_ findings: [Finding]) { self.findings = findings }

    package func count(_ severity: Finding.Severity) -> Int { findings.count { $0.severity == severity } }

    /// For people: a line for each finding, with its remedy below.
    package var text: String {
        var lines = findings.flatMap { finding -> [String] in
            let name = finding.severity.rawValue.padded(8) + finding.area.rawValue.padded(14)
            let subject = finding.subject.isEmpty ? "" : finding.subject + ": "
            let line = name + subject + finding.message
            guard let remedy = finding.remedy else { return [line] }
            return [line, String(repeating: " ", count: 22) + "fix: " + remedy]
        }
        lines.append("")
        lines.append("\(Self.number(count(.problem), "problem")), \(Self.number(count(.warning), "warning")).")
        return lines.joined(separator: "\n") + "\n"
    }

    /// For programs: one object on one line.
    package var json: String {
        JSONObjectWriter.text { json in
            json.add("problems", count(.problem))
            json.add("warnings", count(.warning))
            json.add("findings", objects: findings) { finding, json in
                json.add("severity", finding.severity.rawValue)
                json.add("area", finding.area.rawValue)
                json.add("subject", finding.subject)
                json.add("message", finding.message)
                json.add("fix", orNull: finding.remedy)
            }
        } + "\n"
    }

    private static func number(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }
}
