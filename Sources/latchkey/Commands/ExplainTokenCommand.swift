import ArgumentParser
import Foundation
import LatchkeyConfiguration
import LatchkeyService
import Primitives

struct ExplainTokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain-token",
        abstract: "Tells of an ID token or a logout token which checks it passes, and why not.",
        discussion: """
            Reads the token from a file or from standard input, asks the carrier or provider for its metadata and keys, and makes \
            every check, also after one that failed: those of a sign-in, or of a back-channel logout. The token is sent \
            nowhere. Nothing personal is printed, unless --show-claims asks for it.

            Ends with 0 if a sign-in or a logout would accept the token, 1 if it would refuse it, 64 if the options are wrong, 66 \
            if the token cannot be read, 69 if nobody can be asked, and 78 if the configuration has problems.
            """)

    enum Kind: String, ExpressibleByArgument, CaseIterable {
        case id, logout

        var ofToken: TokenExplainer.Question.Kind { self == .id ? .idToken : .logoutToken }
    }

    @Option(name: .long, help: "What it is to be: an ID token or a logout token (default: what it looks like).")
    var kind: Kind?

    @Option(name: .long, help: "The provider of the configuration that the token is from.")
    var provider = "zenkey"

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The mobile network whose carrier issued it; not of other providers.", valueName: "digits"))
    var mccmnc: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The file that holds the token, in compact form (default: standard input).", valueName: "file"))
    var tokenFile: String?

    @Option(
        name: .long,
        help: ArgumentHelp("The client it is meant for; needed where several are configured.", valueName: "id"))
    var clientID: String?

    @Option(name: .long, help: "The nonce it has to carry; without it, the nonce is not compared.")
    var nonce: String?

    @Option(
        name: .long, help: ArgumentHelp("The acr_values asked for, separated by blanks.", valueName: "values"))
    var acrValues: String?

    @Option(name: .long, help: ArgumentHelp("The context asked for.", valueName: "text"))
    var context: String?

    @Option(
        name: .long, help: ArgumentHelp("How long ago the user may have authenticated.", valueName: "seconds"))
    var maxAge: Int64?

    @Option(
        name: .long,
        help: ArgumentHelp("A file with the access token that came with it, to compare at_hash.", valueName: "file"))
    var accessTokenFile: String?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The moment to check it at, such as 2026-11-21T01:02:03Z or seconds since 1970 (default: now).",
            valueName: "time"))
    var at: String?

    @Flag(name: .long, help: "Also print the header and all claims. They are personal data.")
    var showClaims = false

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        let loaded = try options.load(for: .serve)
        let token = try TokenInput.read(tokenFile)
        var question = TokenExplainer.Question(network: mccmnc)
        question.kind = kind?.ofToken
        question.provider = provider
        question.clientID = clientID
        question.nonce = nonce
        question.acrValues = acrValues
        question.context = context
        question.maximumAuthenticationAge = maxAge
        question.accessToken = try accessTokenFile.map { try TokenInput.read($0) }
        question.moment = at
        let report = try await explain(token, question, loaded.configuration)
        print(report.text, terminator: "")
        if showClaims { print("\n" + report.claimsText, terminator: "") }
        switch report.outcome {
        case .accepted: return
        case .refused: throw ExitCode(1)
        case .undecided: throw ExitCode(69)
        }
    }

    private func explain(
        _ token: Secret, _ question: TokenExplainer.Question, _ configuration: Configuration
    ) async throws -> TokenReport {
        do {
            return try await TokenExplainer(configuration: configuration).explain(token, question)
        } catch let error as TokenExplainer.Failure {
            StandardError.print("latchkey: \(error)")
            throw ExitCode(error.code == .usage ? 64 : 69)
        } catch let error as LatchkeyStartError {
            StandardError.print("latchkey: \(error)")
            throw ExitCode(69)
        }
    }
}

/// Reads a token from a file or standard input.
enum TokenInput {
    /// More than any token that could be accepted, so that one that is too long can be told so.
    private static let maximumBytes = 1 << 20

    /// Without the white space around it, which editors and `echo` add.
    static func read(_ path: String?) throws -> Secret {
        let bytes: [UInt8]
        do {
            if let path {
                bytes = try FileReader.system.contents(of: path, limit: maximumBytes).bytes
            } else {
                let data = try FileHandle.standardInput.read(upToCount: maximumBytes) ?? Data()
                bytes = Array(data)
            }
        } catch {
            let name = path ?? "standard input"
            StandardError.print("latchkey: \(name) cannot be read; name a readable file of at most 1 MiB")
            throw ExitCode(66)
        }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.isEmpty else {
            StandardError.print("latchkey: \(path ?? "standard input") holds no token")
            throw ExitCode(66)
        }
        return Secret(text)
    }
}
