public import LatchkeyConfiguration
public import OpenIDConnect
import OutboundHTTP
public import Primitives
import Storage
import StorageModel

/// Looks at all that sign-ins depend on, and says what to fix: the configuration, the database, and what the carriers
/// answer. Changes nothing, and signs nobody in.
public struct Doctor: Sendable {
    typealias Finding = DoctorReport.Finding

    let configuration: Configuration
    let networks: [MCCMNC]
    let http: any HTTPClient
    let clock: WallClock
    private let warnings: [ConfigurationProblem]

    /// - Parameters:
    ///   - warnings: What the loader had to say of the configuration.
    ///   - networks: Whose carriers are asked; with none, those of `zenkey.issuers`.
    ///   - http: By which carriers are asked; it should inspect certificates.
    public init(
        _ configuration: Configuration, warnings: [ConfigurationProblem] = [], networks: [MCCMNC] = [],
        http: any HTTPClient, clock: WallClock = .system
    ) {
        self.configuration = configuration
        self.warnings = warnings
        self.networks = networks.isEmpty ? configuration.zenkey.issuers.keys.sorted { $0.text < $1.text } : networks
        self.http = http
        self.clock = clock
    }

    /// Examines over the network as the configuration says.
    /// - Throws: ``OperatorFailure`` if a network is none, or requests cannot be made at all.
    public static func examine(
        _ configuration: Configuration, warnings: [ConfigurationProblem], networks: [String]
    ) async throws -> DoctorReport {
        let known = try networks.map { text in
            guard let network = MCCMNC(text) else {
                throw OperatorFailure("--mccmnc is not five or six digits")
            }
            return network
        }
        var outbound = configuration.outboundHTTP
        outbound.inspectsCertificates = true
        let client: CurlHTTPClient
        do {
            client = try LatchkeyService.makeClient(outbound)
        } catch let error as LatchkeyStartError {
            throw OperatorFailure(error.description)
        }
        let report = await Doctor(configuration, warnings: warnings, networks: known, http: client).examine()
        await client.shutdown()
        return report
    }

    public func examine() async -> DoctorReport {
        var findings = examineConfiguration()
        findings.append(await examinePublicURL())
        findings.append(contentsOf: examineTLS())
        findings.append(contentsOf: examineRedirectURIs())
        findings.append(contentsOf: examineDatabase())
        findings.append(contentsOf: await examineCarriers())
        findings.append(contentsOf: await examineProviders())
        return DoctorReport(findings)
    }

    private func examineConfiguration() -> [Finding] {
        let warned = warnings.map { warning in
            let area: Finding.Area = warning.key.hasPrefix("api_keys") ? .apiKeys : .configuration
            let place = warning.origin == .none ? "" : " [\(warning.origin)]"
            return Finding.warning(area, warning.key, warning.reason + place, fix: warning.remedy)
        }
        let keys = configuration.apiKeys.count
        return [.ok(.configuration, "it can be read, and has all that serving needs")] + warned + [
            keys > 0
                ? .ok(.apiKeys, keys == 1 ? "1 key" : "\(keys) keys")
                : .problem(.apiKeys, "there is none, so no app can call the API", fix: "set api_keys")
        ]
    }

    private func examinePublicURL() async -> Finding {
        guard let url = configuration.publicURL else {
            return .warning(
                .publicURL, "not set, so no sign-in by redirect can start",
                fix: "set it to the https URL of this server, if web frontends or other browsers are to sign in")
        }
        guard url.scheme == .https else {
            return .warning(
                .publicURL, url.text, "is plain http, so only this machine can use it",
                fix: "set public_url to the https URL of this server, or of the proxy in front")
        }
        let base = url.text.hasSuffix("/") ? String(url.text.dropLast()) : url.text
        guard let health = EndpointURL(base + "/healthz", policy: .httpsOnly) else {
            return .problem(.publicURL, url.text, "is too long", fix: "use a shorter one")
        }
        let fix =
            "start the server, and see that DNS, and the proxy if there is one, lead to it; ignore this if only clients can reach it"
        let request = OutboundRequest(method: .get, url: health, timeout: .seconds(5), maximumBodyBytes: 65_536)
        do throws(OutboundError) {
            let status = try await http.send(request).status
            guard status == 200 else {
                return .warning(.publicURL, url.text, "/healthz answers \(status) and not 200", fix: fix)
            }
            return .ok(
                .publicURL, url.text,
                "/healthz answers; providers have to know \(callbacks(below: base)) for sign-ins by redirect")
        } catch {
            return .warning(.publicURL, url.text, "cannot be reached from here (\(error.reason))", fix: fix)
        }
    }

    private func callbacks(below base: String) -> String {
        let zenkey = configuration.zenkey.discoveryURL == nil ? [] : ["zenkey"]
        return (zenkey + configuration.providers.map(\.id)).map { "\(base)/auth/\($0)/callback" }
            .joined(separator: ", ")
    }

    /// A client without redirect URIs is warned of by the configuration's loader.
    private func examineRedirectURIs() -> [Finding] {
        configuration.allClients.flatMap { client -> [Finding] in
            let doubtful = client.redirectURIs.compactMap { uri -> Finding? in
                RedirectURIDoubt(uri).map {
                    .warning(.redirectURIs, client.id.text, "\(uri) \($0.reason)", fix: $0.remedy)
                }
            }
            guard doubtful.isEmpty, !client.redirectURIs.isEmpty else { return doubtful }
            return [.ok(.redirectURIs, client.id.text, "\(client.redirectURIs.count) registered")]
        }
    }

    private func examineDatabase() -> [Finding] {
        let subject = configuration.database.url.path ?? configuration.database.url.description
        let examination: DatabaseExamination
        do throws(StorageError) {
            examination = try DatabaseExamination(configuration.engine)
        } catch {
            let isFile = configuration.database.url.path != nil
            return [
                .problem(.database, subject, error.reason, fix: isFile ? error.code.remedy : error.code.serverRemedy)
            ]
        }
        return [examination.finding(subject), examination.roomFinding(subject)].compactMap { $0 }
            + examineVault(examination.tokenKeys)
    }
}

/// What may be wrong with a redirect URI that is allowed.
private struct RedirectURIDoubt {
    let reason: String
    let remedy: String

    init?(_ uri: String) {
        let scheme = uri.prefix { $0 != ":" }.lowercased()
        switch scheme {
        case "https": return nil
        case "http":
            reason = "is plain http on this machine"
            remedy = "register the app's https or own-scheme URI instead, unless this is for development"
        default:
            guard !scheme.contains(".") else { return nil }
            // RFC 8252 section 7.1.
            reason = "has a scheme that any other app may take too"
            remedy = "use a reversed domain name of yours, such as com.example.app:/callback, or an https URL"
        }
    }
}

extension StorageError.Code {
    fileprivate var remedy: String {
        switch self {
        case .unavailable: "see that the path in database.url is right and its user may write there"
        case .full: "make room on the disk"
        case .corrupt: "name another file in database.url, run the version that wrote it, or restore a backup"
        case .conflict, .overloaded, .closed: "try again"
        }
    }

    fileprivate var serverRemedy: String {
        switch self {
        case .unavailable: "see that the server runs, and that host, user and password in database.url are right"
        case .full: "make room on the server's disk"
        case .corrupt: "name another database in database.url, run the version that wrote it, or restore a backup"
        case .conflict, .overloaded, .closed: "try again"
        }
    }
}

extension DatabaseExamination {
    fileprivate func finding(_ subject: String) -> DoctorReport.Finding {
        switch schema {
        case .missing: .ok(.database, subject, "is not there yet; the first start makes it")
        case .present(let steps, let all) where steps == all:
            .ok(.database, subject, "opens, and its tables are those of this version (\(steps) of \(all) steps)")
        case .present(let steps, let all):
            .ok(.database, subject, "opens; the next start brings its tables up to date (\(steps) of \(all) steps)")
        }
    }

    fileprivate init(_ engine: Configuration.Engine) throws(StorageError) {
        switch engine {
        case .sqlite(var sqlite):
            sqlite.busyTimeout = .seconds(2)
            try self.init(sqlite)
        case .postgres(let postgres): try self.init(postgres)
        }
    }

    /// Nil where the disk is another machine's.
    fileprivate func roomFinding(_ subject: String) -> DoctorReport.Finding? {
        guard let freeBytes else { return nil }
        let mebibytes = freeBytes >> 20
        let message = "\(mebibytes) MiB free on its disk"
        let fix = "make room, or move the database"
        if mebibytes < 64 { return .problem(.database, subject, message, fix: fix) }
        if mebibytes < 512 { return .warning(.database, subject, message, fix: fix) }
        return .ok(.database, subject, message)
    }
}

extension DoctorReport {
    /// What is wrong with a configuration that nothing else can be looked at with.
    public init(_ errors: ConfigurationErrors) {
        var findings = errors.problems.map { problem in
            let place = problem.origin == .none ? "" : " [\(problem.origin)]"
            let subject = problem.key.isEmpty ? "configuration file" : problem.key
            return Finding.problem(.configuration, subject, problem.reason + place, fix: problem.remedy)
        }
        if errors.omitted > 0 {
            findings.append(.problem(.configuration, "there are \(errors.omitted) more", fix: "mend these first"))
        }
        self.init(findings)
    }
}
