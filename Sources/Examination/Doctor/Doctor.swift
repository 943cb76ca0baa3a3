package import LatchkeyConfiguration
package import LatchkeyService
package import OpenIDConnect
import OutboundHTTP
package import Primitives
import SignIn
import StorageModel

/// Checks everything that sign-ins depend on: the configuration, the database and the providers. Changes nothing and
/// signs no user in.
package struct Doctor: Sendable {
    typealias Finding = DoctorReport.Finding

    let configuration: Configuration
    private let features: FeatureList
    let networks: [MCCMNC]
    let http: any HTTPClient
    let clock: WallClock
    private let warnings: [ConfigurationProblem]

    /// - Parameters:
    ///   - warnings: The loader's warnings about the configuration.
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
        return DoctorReport(ours + examineDatabase(examined) + providers)
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

    private func examineDatabase(_ result: Result<DatabaseExamination, StorageError>) -> [Finding] {
        let subject = configuration.database.url.path ?? configuration.database.url.description
        let examination: DatabaseExamination
        do throws(StorageError) {
            examination = try result.get()
        } catch {
            let isFile = configuration.database.url.path != nil
            return [.problem(.database, subject, error.reason, fix: error.code.remedy(isFile: isFile))]
        }
        return [examination.finding(subject), examination.roomFinding(subject)].compactMap { $0 }
            + examineVault(examination.tokenKeys, of: "tokens") + examineVault(examination.claimKeys, of: "claims")
            + examineSigningKeys(examination.signingKeys)
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

extension StorageError.Code {
    fileprivate func remedy(isFile: Bool) -> String {
        switch self {
        case .unavailable where isFile:
            "check the path in database.url and that the user of this process can write there"
        case .unavailable: "check that the database server runs, and the host, user and password in database.url"
        case .full: isFile ? "free disk space" : "free disk space on the database server"
        case .corrupt:
            "name another \(isFile ? "file" : "database") in database.url, run the version that wrote it, or restore a "
                + "backup"
        case .conflict, .overloaded, .closed: "try again"
        }
    }
}

extension DatabaseExamination {
    fileprivate func finding(_ subject: String) -> DoctorReport.Finding {
        guard let steps else { return .ok(.database, subject, "does not exist yet; the first start creates it") }
        let tables = steps == Self.allSteps ? ", and its tables are up to date" : "; the next start migrates its tables"
        return .ok(.database, subject, "opens\(tables) (\(steps) of \(Self.allSteps) migrations)")
    }

    /// Nil if the disk is another machine's.
    fileprivate func roomFinding(_ subject: String) -> DoctorReport.Finding? {
        guard let freeBytes else { return nil }
        let mebibytes = freeBytes >> 20
        let message = "\(mebibytes) MiB free on its disk"
        let fix = "free disk space, or move the database"
        if mebibytes < 64 { return .problem(.database, subject, message, fix: fix) }
        if mebibytes < 512 { return .warning(.database, subject, message, fix: fix) }
        return .ok(.database, subject, message)
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
