import OpenIDConnect
import Primitives
import Synchronization

/// Answers a replay's requests with the responses of a capsule. It sends nothing.
final class RebuiltResponses: HTTPClient {
    /// What a request is for.
    enum Question: Hashable, Sendable {
        /// The discovery service of a network, or the configured issuer.
        case discovery
        /// The OpenID configuration of an issuer that a network's metadata names.
        case issuer
        case keys, token, userInfo, pushedAuthorization, backchannelAuthentication
        /// Another request. No capsule has a response to it that a replay reads.
        case other

        /// Its name for people.
        var name: String {
            switch self {
            case .discovery: "discovery"
            case .issuer: "the issuer's OpenID configuration"
            case .keys: "the provider's keys"
            case .token: "the token request"
            case .userInfo: "the userinfo request"
            case .pushedAuthorization: "the pushed authorization request"
            case .backchannelAuthentication: "the backchannel authentication request"
            case .other: "another request"
            }
        }
    }

    /// How a request ended.
    enum Answer: Sendable {
        case response(OutboundResponse)
        case failure(OutboundError)
    }

    private struct State {
        var answers: [Question: [Answer]]
        /// The first request without an answer.
        var unanswered: Question?
    }

    private let state: Mutex<State>
    /// Whether the provider is found by a network, so that an issuer's own configuration is another document.
    private let isOfCarriers: Bool

    init(_ answers: [Question: [Answer]], isOfCarriers: Bool) {
        state = Mutex(State(answers: answers))
        self.isOfCarriers = isOfCarriers
    }

    /// The first request that the capsule has no answer to; nil if there was none.
    var unanswered: Question? { state.withLock { $0.unanswered } }

    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        let question = question(request.destination)
        let answer = state.withLock { state -> Answer? in
            guard var answers = state.answers[question], let first = answers.first else {
                state.unanswered = state.unanswered ?? question
                return nil
            }
            // A document is the same each time; a code is redeemed once.
            let isDocument = [.discovery, .issuer, .keys].contains(question)
            if answers.count > 1 || !isDocument { answers.removeFirst() }
            state.answers[question] = answers
            return first
        }
        switch answer {
        case .response(let response): return response
        case .failure(let error): throw error
        case nil:
            throw OutboundError(.unreachable, mayHaveBeenSent: false, reason: "the capsule has no response to this")
        }
    }

    private func question(_ destination: OutboundRequest.Destination?) -> Question {
        guard let destination else { return .other }
        switch destination.step {
        case .discovery: return isOfCarriers && destination.isIssuersOwnConfiguration ? .issuer : .discovery
        case .keys: return .keys
        case .token: return .token
        case .userInfo: return .userInfo
        case .pushedAuthorization: return .pushedAuthorization
        case .backchannelAuthentication: return .backchannelAuthentication
        case .resource, .numberVerification, .simSwap, .telcoFinder: return .other
        }
    }
}
