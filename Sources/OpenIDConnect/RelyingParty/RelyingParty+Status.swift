public import Primitives

/// The state of the circuit breaker of one endpoint of a provider.
public enum ProviderStatus: Sendable, Hashable, CaseIterable {
    /// Requests are sent.
    case closed
    /// One request is under way, to find out whether the endpoint responds again.
    case halfOpen
    /// No request is sent.
    case open
}

/// The cached signing keys of one issuer.
public struct KeyStatus: Sendable, Hashable {
    /// As the issuer's metadata spells it.
    public let issuer: String
    /// When the keys came.
    public let fetchedAt: Timestamp
    /// Until then no new fetch is needed.
    public let freshUntil: Timestamp
    /// How many of the keys can be used.
    public let count: Int
}

/// A relying party's state, for administrators.
extension RelyingParty {
    /// How many requests to providers are under way.
    public var requestsInFlight: Int { bulkhead.inFlight }

    /// The destinations whose circuit breaker is not closed.
    public var failingDestinations: [(destination: OutboundRequest.Destination, status: ProviderStatus)] {
        bulkhead.statuses
    }

    /// The cached keys, one set for each issuer and key set URL.
    public var keyStatuses: [KeyStatus] { keyCaches.statuses }
}
