import ArgumentParser
import CommandLineSupport
import LatchkeyConfiguration
import LatchkeyService
import Primitives

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

    @Option(help: "The kind of token: ID token or logout token (default: what it looks like).")
    var kind: TokenExplainer.Question.Kind?

    @Option(help: "The configured provider that issued the token.")
    var provider = Configuration.ZenKey.name

    @Option(
        help: ArgumentHelp(
            "The mobile network of the carrier that issued the token; not for other providers.", valueName: "digits"))
    var mccmnc: String?

    @Option(
        help: ArgumentHelp(
            "The file that holds the token, in compact form (default: standard input).", valueName: "file"),
        completion: .file())
    var tokenFile: String?

    @Option(
        help: ArgumentHelp("The client that the token is for; required if several are configured.", valueName: "id"))
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
        help: ArgumentHelp("A file that holds the access token issued with it, to compare at_hash.", valueName: "file"),
        completion: .file())
    var accessTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "The time of the checks, such as 2026-11-21T01:02:03Z or seconds since 1970 (default: now).",
            valueName: "time")) var at: String?

    @Flag(help: "Also print the header and all claims, which are personal data.")
    var showClaims = false

    @Option(help: "text for people, json for programs.")
    var format = ReportFormat.text

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let loaded = try options.load(for: .serve)
        let token = try TokenInput.read(tokenFile)
        var question = TokenExplainer.Question(network: mccmnc)
        question.kind = kind
        question.provider = provider
        question.clientID = clientID
        question.nonce = nonce
        question.acrValues = acrValues
        question.context = context
        question.maximumAuthenticationAge = maxAge
        question.accessToken = try accessTokenFile.map { try TokenInput.read($0) }
        question.moment = at
        let report: TokenReport
        do {
            report = try await TokenExplainer(configuration: loaded.configuration).explain(token, question)
        } catch let error where error is AdministratorError || error is LatchkeyStartError {
            throw failed("\(error)", (error as? AdministratorError)?.reason == .usage ? 64 : 69)
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

extension TokenExplainer.Question.Kind: ExpressibleByArgument {}

/// Reads a token from a file or standard input.
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
