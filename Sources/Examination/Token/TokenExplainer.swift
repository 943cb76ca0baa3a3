import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import OutboundHTTP
import Primitives
import SignIn

struct ExplainTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain-token",
        abstract: "Explains which checks an ID token or a logout token passes or fails.",
        discussion: """
            Reads the token from a file or from standard input, fetches the metadata and keys of the \
            provider, and makes every check of a sign-in or a back-channel logout, also after a failed one. The token \
            is sent nowhere. Personal data is printed with --show-claims only.

            Exit status: 0 if a sign-in or a logout accepts the token, 1 if not, 64 for wrong options, 66 if the token \
            cannot be read, 69 if the metadata cannot be fetched, 78 for an invalid configuration.
            """)

    @OptionGroup var question: TokenExplainer.Question

    @Flag(help: "Also print the header and all claims, which are personal data.")
    var showClaims = false

    @Option(help: "text for people, json for programs.")
    var format = ReportFormat.text

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let loaded = try options.load(for: .serve)
        let token = try TokenInput.read(question.tokenFile)
        let accessToken = try question.accessTokenFile.map { try TokenInput.read($0) }
        let report = try await reportingFailure(exitCode: 69) {
            try await TokenExplainer(
                configuration: loaded.configuration, question: question, accessToken: accessToken
            ).explain(token)
        }
        switch format {
        case .text:
            print(report.text, terminator: "")
            if showClaims { print("\n" + report.claimsText, terminator: "") }
        case .json: print(report.json(withClaims: showClaims))
        }
        switch report.outcome {
        case .accepted: return
        case .refused: throw ExitCode(1)
        case .undecided: throw ExitCode(69)
        }
    }
}

enum TokenInput {
    /// More than any acceptable token, so that a longer token is explained as too long.
    private static let maximumBytes = 1 << 20

    /// Removes the surrounding white space, which editors and `echo` add.
    static func read(_ path: String?) throws -> Secret {
        let name = path ?? "standard input"
        let bytes =
            if let path {
                try? FileReader.system.contents(of: path, limit: maximumBytes).bytes
            } else {
                Console.readInput(limit: maximumBytes)
            }
        guard let bytes else { throw failed("\(name) cannot be read; name a readable file of at most 1 MiB", 66) }
        let text = String(decoding: bytes, as: UTF8.self).withoutOuterWhitespace
        guard !text.isEmpty else { throw failed("there is no token in \(name)", 66) }
        return Secret(text)
    }
}

/// Explains which checks an ID token or a logout token passes or fails, by the rules of sign-ins and back-channel
/// logouts.
struct TokenExplainer {
    /// The options of `latchkey explain-token` that say which token it is, and what its sign-in demanded.
    struct Question: ParsableArguments {
        enum Kind: String, CaseIterable, ExpressibleByArgument { case idToken = "id", logoutToken = "logout" }

        @Option(help: "The kind of token: ID token or logout token (default: what it looks like).")
        var kind: Kind?

        @Option(help: "The configured provider that issued the token.")
        var provider = Configuration.ZenKey.name

        @Option(
            help: ArgumentHelp(
                "The mobile network of the carrier that issued the token; not for other providers.",
                valueName: "digits"))
        var mccmnc: String?

        @Option(
            help: ArgumentHelp(
                "The file that holds the token, in compact form (default: standard input).", valueName: "file"),
            completion: .file())
        var tokenFile: String?

        @Option(
            help: ArgumentHelp(
                "The client that the token is for; required if several are configured.", valueName: "id"))
        var clientID: String?

        @Option(help: "The expected nonce; without it, the nonce is not compared.")
        var nonce: String?

        @Option(help: ArgumentHelp("The requested acr_values, separated by spaces.", valueName: "values"))
        var acrValues: String?

        @Option(help: ArgumentHelp("The requested context.", valueName: "text"))
        var context: String?

        @Option(help: ArgumentHelp("The most seconds since the user authenticated.", valueName: "seconds"))
        var maxAge: Int64?

        @Option(
            help: ArgumentHelp(
                "A file that holds the access token issued with it, to compare at_hash.", valueName: "file"),
            completion: .file())
        var accessTokenFile: String?

        @Option(
            help: ArgumentHelp(
                "The time of the checks, such as 2026-11-21T01:02:03Z or seconds since 1970 (default: now).",
                valueName: "time"))
        var at: String?
    }

    let configuration: Configuration
    let question: Question
    let accessToken: Secret?
    private let clock = WallClock.system

    private struct Source {
        let provider: Configuration.Provider
        /// Of a carrier.
        let network: MCCMNC?

        var name: String { provider.kind == .zenkey ? "the carrier" : provider.id }
        /// Where its clients are configured.
        var key: String { provider.kind == .zenkey ? provider.keys.clients : "the provider \(provider.id)" }
    }

    /// Fetches the metadata and keys of the provider, and makes every check. The token is sent nowhere.
    /// - Throws: ``AdministratorError``, or ``LatchkeyStartError`` if no requests can be made.
    func explain(_ token: Secret) async throws -> TokenReport {
        let kind = question.kind ?? looks(of: token)
        if kind == .logoutToken { try refuseOptionsOfIDTokens() }
        let source = try source()
        let moment = try moment()
        let explain =
            kind == .idToken ? try idToken(token, source, at: moment) : try logoutToken(token, source, at: moment)
        let client = try LatchkeyService.makeClient(configuration.outboundHTTP)
        let relyingParty = RelyingParty(
            configuration: configuration.relyingParty(of: source.provider), http: client, clock: clock)
        do throws(OIDCError) {
            let report = try await explain(relyingParty)
            await client.shutdown()
            return report
        } catch {
            await client.shutdown()
            throw AdministratorError("\(source.name)'s metadata: \(error)")
        }
    }

    private typealias Explanation = (RelyingParty) async throws(OIDCError) -> TokenReport

    private func idToken(_ token: Secret, _ source: Source, at moment: Timestamp) throws -> Explanation {
        let client = try client(of: source)
        let expectation = expectation(client)
        let signed = try signedToken(in: token, of: client, source)
        return { (relyingParty) async throws(OIDCError) in
            let provider = try await relyingParty.provider(
                for: source.network, clientID: client.id, correlationID: .random(from: .system))
            let explanation = await relyingParty.explain(
                idToken: signed, expecting: expectation, provider: provider, at: moment)
            return TokenReport(
                explanation,
                heading: (client.idTokenDecryption == nil ? "An" : "An encrypted")
                    + " ID token for client \(client.id.text) from \(provider.issuer), at \(time(moment)):")
        }
    }

    /// A provider may send it for any client.
    private func logoutToken(_ token: Secret, _ source: Source, at moment: Timestamp) throws -> Explanation {
        let clients = question.clientID == nil ? source.provider.clients : [try client(of: source)]
        return { (relyingParty) async throws(OIDCError) in
            guard let first = clients.first else { throw OIDCError(.clientRefused, reason: "there is no client") }
            let provider = try await relyingParty.provider(
                for: nil, clientID: first.id, correlationID: .random(from: .system))
            let explanation = await relyingParty.explain(
                logoutToken: token,
                for: Dictionary(clients.map { ($0.id, $0.signingAlgorithms) }, uniquingKeysWith: { first, _ in first }),
                provider: provider, at: moment)
            return TokenReport(
                explanation, heading: "A logout token from \(provider.issuer), at \(time(moment)):",
                caution: "A logout token is valid once; whether it was used before is not checked here.")
        }
    }

    private func time(_ moment: Timestamp) -> String { UTCTime.text(moment) + (question.at == nil ? " (now)" : "") }

    /// What an encrypted ID token contains, if the client's are encrypted.
    private func signedToken(
        in token: Secret, of client: Configuration.Client, _ source: Source
    ) throws(AdministratorError) -> Secret {
        do throws(OIDCError) {
            return try client.credentials.signedToken(
                in: token, rules: configuration.relyingParty(of: source.provider).idTokenRules)
        } catch {
            throw AdministratorError(.usage, "a sign-in refuses the token before any check: \(error.reason)")
        }
    }

    /// A guess: the header of a logout token says so, or it has the event of one.
    private func looks(of token: Secret) -> Question.Kind {
        let compact = CompactToken(token, maximumBytes: IDTokenRules().maximumBytes)
        let isLogoutToken =
            compact?.header?["typ"]?.string?.lowercased().hasSuffix("logout+jwt") == true
            || compact?.payload.object?["events"]?.object?[LogoutToken.event] != nil
        return isLogoutToken ? .logoutToken : .idToken
    }

    /// A logout token belongs to no sign-in and no carrier.
    private func refuseOptionsOfIDTokens() throws(AdministratorError) {
        guard question.provider != Configuration.ZenKey.name else {
            throw AdministratorError(
                .usage, "this is a logout token, which carriers do not send; name its provider with --provider")
        }
        guard question.nonce == nil, question.acrValues == nil, question.context == nil, accessToken == nil,
            question.maxAge == nil
        else {
            throw AdministratorError(
                .usage,
                "this is a logout token, which belongs to no sign-in; leave out --nonce, --acr-values, "
                    + "--context, --max-age and --access-token-file")
        }
        let known = configuration.providers.first { $0.id == question.provider }
        guard known?.rules.endsSessions != false else {
            throw AdministratorError(.usage, "\(question.provider) cannot end sessions: its backchannel_logout is off")
        }
    }

    private func source() throws(AdministratorError) -> Source {
        let known = configuration.allProviders
        guard let provider = known.first(where: { $0.id == question.provider }) else {
            let names = known.filter { $0.kind != .oauth2 }.map(\.id)
            throw AdministratorError(
                .usage,
                names.isEmpty
                    ? "no provider with ID tokens is configured"
                    : "there is no provider of that name; --provider is one of: " + names.joined(separator: ", "))
        }
        switch (provider.kind, question.mccmnc.flatMap(MCCMNC.init)) {
        case (.oauth2, _), (.aggregator, _):
            throw AdministratorError(
                .usage, "\(provider.id) is of kind \(provider.kind.rawValue), which has no ID tokens")
        case (.zenkey, nil):
            throw AdministratorError(
                .usage, "--mccmnc is not five or six digits; a carrier's token needs its network")
        case (.zenkey, let network): return Source(provider: provider, network: network)
        case (.oidc, _), (.camara, _), (.firebasePNV, _):
            guard question.mccmnc == nil else {
                throw AdministratorError(.usage, "--mccmnc is for carriers; leave it out for \(provider.id)")
            }
            return Source(provider: provider, network: nil)
        }
    }

    private func moment() throws -> Timestamp {
        guard let text = question.at else { return clock.now() }
        if let moment = UTCTime.moment(text) { return moment }
        if text.utf8.count <= 12, let seconds = Int64(text), seconds >= 0 {
            return Timestamp(secondsSinceEpoch: seconds)
        }
        throw AdministratorError(.usage, "--at is not a time; write 2026-11-21T01:02:03Z, or seconds since 1970")
    }

    private func expectation(_ client: Configuration.Client) -> IDTokenExpectation {
        var expectation = IDTokenExpectation(clientID: client.id)
        expectation.requiredAudiences = client.requiredAudiences
        expectation.signingAlgorithms = client.signingAlgorithms
        expectation.nonce = question.nonce
        expectation.demand.acrValues = question.acrValues?.split(separator: " ").map(String.init) ?? []
        expectation.demand.context = question.context
        expectation.demand.maximumAge = question.maxAge
        expectation.accessToken = accessToken
        return expectation
    }

    private func client(of source: Source) throws -> Configuration.Client {
        let known = source.provider.clients
        if let named = question.clientID {
            guard let client = known.first(where: { $0.id.text == named }) else {
                throw AdministratorError(.usage, "--client-id names none of the clients of \(source.key)")
            }
            return client
        }
        guard let only = known.first, known.count == 1 else {
            let names = known.map(\.id.text).joined(separator: ", ")
            throw AdministratorError(.usage, "there are several clients; name one with --client-id: \(names)")
        }
        return only
    }
}
