public import LatchkeyConfiguration
import OpenIDConnect
import OutboundHTTP
public import Primitives

/// Explains an ID token: which checks of a sign-in it passes and which not, by the rules that sign-ins are held to.
public struct TokenExplainer: Sendable {
    /// What a sign-in would bring along beside the token, as an operator writes it.
    public struct Question: Sendable {
        public var provider = "zenkey"
        public var network: String
        /// Nil for the only client there is.
        public var clientID: String?
        public var nonce: String?
        /// Separated by blanks.
        public var acrValues: String?
        public var context: String?
        /// In seconds.
        public var maximumAuthenticationAge: Int64?
        public var accessToken: Secret?
        /// An RFC 3339 time in UTC or seconds since 1970; nil for the present time.
        public var moment: String?

        public init(network: String) {
            self.network = network
        }
    }

    /// Why nothing can be explained.
    public struct Failure: Error, Sendable, CustomStringConvertible {
        public enum Code: Sendable {
            /// The question is not one that can be answered.
            case usage
            /// The carrier cannot be asked for its metadata.
            case unavailable
        }

        public let code: Code
        public let description: String
    }

    private let configuration: Configuration
    private let clock: WallClock

    public init(configuration: Configuration, clock: WallClock = .system) {
        self.configuration = configuration
        self.clock = clock
    }

    /// Asks discovery for the carrier, fetches its keys, and makes every check. The token is sent nowhere.
    /// - Throws: ``Failure``, or ``LatchkeyStartError`` if requests cannot be made at all.
    public func explain(_ token: Secret, _ question: Question) async throws -> TokenReport {
        guard question.provider == "zenkey", let discoveryURL = configuration.zenkey.discoveryURL else {
            throw Failure(code: .usage, description: "there is no provider of that name; the one there is is zenkey")
        }
        guard let network = MCCMNC(question.network) else {
            throw Failure(code: .usage, description: "--mccmnc is not five or six digits")
        }
        let moment = try moment(question)
        let expectation = try expectation(question)
        let client = try LatchkeyService.makeClient(configuration.outboundHTTP)
        let relyingParty = RelyingParty(
            configuration: configuration.relyingParty(discoveryURL: discoveryURL), http: client, clock: clock)
        let result: Result<TokenReport, OIDCError>
        do throws(OIDCError) {
            let provider = try await relyingParty.provider(
                for: network, clientID: expectation.clientID, correlationID: .random(from: .system))
            let explanation = await relyingParty.explain(
                idToken: token, expecting: expectation, provider: provider, at: moment)
            result = .success(
                TokenReport(
                    explanation, issuer: provider.issuer, clientID: expectation.clientID, moment: moment,
                    isNow: question.moment == nil))
        } catch {
            result = .failure(error)
        }
        await client.shutdown()
        return try result.mapError { Failure(code: .unavailable, description: "the carrier's metadata: \($0)") }.get()
    }

    private func moment(_ question: Question) throws -> Timestamp {
        guard let text = question.moment else { return clock.now() }
        if let moment = UTCTime.moment(text) { return moment }
        if text.utf8.count <= 12, let seconds = Int64(text), seconds >= 0 {
            return Timestamp(secondsSinceEpoch: seconds)
        }
        throw Failure(
            code: .usage, description: "--at is no time; write one like 2026-11-21T01:02:03Z, or seconds since 1970")
    }

    private func expectation(_ question: Question) throws -> IDTokenExpectation {
        var expectation = IDTokenExpectation(clientID: try clientID(question))
        expectation.nonce = question.nonce
        expectation.acrValues = question.acrValues?.split(separator: " ").map(String.init) ?? []
        expectation.context = question.context
        expectation.maximumAuthenticationAge = question.maximumAuthenticationAge
        expectation.accessToken = question.accessToken
        return expectation
    }

    private func clientID(_ question: Question) throws -> ClientID {
        let known = configuration.zenkey.clients.map(\.id)
        if let named = question.clientID {
            guard let id = known.first(where: { $0.text == named }) else {
                throw Failure(code: .usage, description: "--client-id names none of the clients of zenkey.clients")
            }
            return id
        }
        guard let only = known.first, known.count == 1 else {
            let names = known.map(\.text).joined(separator: ", ")
            throw Failure(code: .usage, description: "there are several clients; name one with --client-id: \(names)")
        }
        return only
    }
}
