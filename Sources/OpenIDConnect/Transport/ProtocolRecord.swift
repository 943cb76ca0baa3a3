package import Primitives
import Synchronization

/// What one sign-in got from its provider, for the capsule of a failure.
///
/// It keeps references to responses, metadata and the ID token, and copies nothing, so that a sign-in without a failure
/// pays little. It holds secrets and personal data: only what a capsule is made of may leave it.
package final class ProtocolRecord: Sendable {
    /// The record of the current task; nil if nothing is recorded.
    @TaskLocal package static var current: ProtocolRecord?

    /// The most requests that are recorded. A sign-in has five at most; polls of a mobile operator may have more.
    private static let maximumExchanges = 16

    /// A request to the provider, and how it ended.
    package struct Exchange: Sendable {
        package let step: OutboundRequest.Destination.Step
        /// Whether a discovery request went to an issuer itself, and not to the discovery service of a network.
        package let isToIssuer: Bool
        package let endedAt: Timestamp
        package let result: Result<OutboundResponse, OutboundError>

        init(
            _ destination: OutboundRequest.Destination, endedAt: Timestamp,
            _ result: Result<OutboundResponse, OutboundError>
        ) {
            step = destination.step
            // A discovery service is asked under the name of a network, which is digits.
            isToIssuer = step == .discovery && !destination.carrier.isDecimal
            self.endedAt = endedAt
            self.result = result
        }
    }

    /// An ID token, and what it was validated against.
    package struct Validation: Sendable {
        package let idToken: Secret
        package let expectation: IDTokenExpectation
        package fileprivate(set) var provider: ProviderMetadata
        package let at: Timestamp
    }

    /// What was known when the metadata of a network was verified.
    package struct IssuerKnowledge: Sendable {
        /// What the store knew of the network and of the issuer that its metadata names.
        package fileprivate(set) var known: KnownIssuer
        /// What the issuer's own OpenID configuration says; nil if it was not needed, or not to be had.
        package fileprivate(set) var own: IssuerBinding?
    }

    private struct State {
        var exchanges: [Exchange] = []
        var provider: ProviderMetadata?
        var validation: Validation?
        var keySets: [JSONWebKeySet] = []
        var issuer: IssuerKnowledge?
    }

    private let state = Mutex(State())

    package init() {}

    /// The requests in the order in which they ended. A request that another sign-in had begun is not among them.
    package var exchanges: [Exchange] { state.withLock { $0.exchanges } }
    /// The metadata that was used; nil if there was none.
    package var provider: ProviderMetadata? { state.withLock { $0.provider } }
    /// The provider's keys that a signature was checked with, at most the first two sets.
    package var keySets: [JSONWebKeySet] { state.withLock { $0.keySets } }
    /// What was known when the metadata of the network was verified; nil if it was not verified for this sign-in.
    package var issuer: IssuerKnowledge? { state.withLock { $0.issuer } }
    /// The last ID token that was validated.
    package var validation: Validation? { state.withLock { $0.validation } }

    func note(_ exchange: @autoclosure () -> Exchange) {
        state.withLock { state in
            guard state.exchanges.count < Self.maximumExchanges else { return }
            state.exchanges.append(exchange())
        }
    }

    func note(_ provider: ProviderMetadata) { state.withLock { $0.provider = provider } }

    /// The provider's metadata was fetched again during the validation.
    func replaceProvider(_ provider: ProviderMetadata) {
        state.withLock { state in
            state.provider = provider
            state.validation?.provider = provider
        }
    }

    func note(_ keys: JSONWebKeySet) {
        state.withLock { state in
            if state.keySets.count < 2 { state.keySets.append(keys) }
        }
    }

    func note(_ known: KnownIssuer) { state.withLock { $0.issuer = IssuerKnowledge(known: known) } }

    /// After what was known was noted.
    func note(own: IssuerBinding?) { state.withLock { $0.issuer?.own = own } }

    func note(_ validation: Validation) { state.withLock { $0.validation = validation } }
}
