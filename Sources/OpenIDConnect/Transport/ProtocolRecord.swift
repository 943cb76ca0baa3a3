package import Primitives
import Synchronization

/// What one sign-in got from its provider, for the capsule of a failure.
///
/// It keeps references to responses, metadata and the ID token, and copies nothing, so that a sign-in without a failure
/// pays little. It holds secrets and personal data: only what a capsule is made of may leave it.
@dynamicMemberLookup
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
        package internal(set) var provider: ProviderMetadata
        package let at: Timestamp
    }

    /// What was known when the metadata of a network was verified.
    package struct IssuerKnowledge: Sendable {
        /// What the store knew of the network and of the issuer that its metadata names.
        package internal(set) var known: KnownIssuer
        /// What the issuer's own OpenID configuration says; nil if it was not needed, or not to be had.
        package internal(set) var own: IssuerBinding?
    }

    package struct Contents: Sendable {
        /// The requests in the order in which they ended. A request that another sign-in had begun is not among them.
        package private(set) var exchanges: [Exchange] = []
        /// The metadata that was used; nil if there was none.
        package internal(set) var provider: ProviderMetadata?
        package internal(set) var validation: Validation?
        /// The provider's keys that a signature was checked with, at most the first two sets.
        package private(set) var keySets: [JSONWebKeySet] = []
        /// What was known when the metadata of the network was verified; nil if it was not verified for this sign-in.
        package internal(set) var issuer: IssuerKnowledge?

        mutating func add(_ exchange: @autoclosure () -> Exchange) {
            if exchanges.count < maximumExchanges { exchanges.append(exchange()) }
        }

        mutating func add(_ keys: JSONWebKeySet) {
            if keySets.count < 2 { keySets.append(keys) }
        }
    }

    private let contents = Mutex(Contents())

    package init() {}

    package subscript<Value: Sendable>(dynamicMember path: any KeyPath<Contents, Value> & Sendable) -> Value {
        contents.withLock { $0[keyPath: path] }
    }

    func note(_ change: (inout Contents) -> Void) { contents.withLock { change(&$0) } }
}
