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
        let report: TokenReport
        do {
            let explainer = TokenExplainer(
                configuration: loaded.configuration, question: question, accessToken: accessToken)
            report = try await explainer.explain(token)
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
