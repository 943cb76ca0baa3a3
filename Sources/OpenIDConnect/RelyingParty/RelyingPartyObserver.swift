public import Primitives

/// Is called when a relying party's requests to providers end. The closures must return quickly.
public struct RelyingPartyObserver: Sendable {
    /// How a request to a provider ended.
    public enum Ending: Sendable, Hashable {
        /// With a response of this status.
        case answered(Int)
        /// Without a response.
        case failed(OutboundError.Code)
    }

    /// A request ended after some nanoseconds, or was not sent because of the provider's limit or circuit breaker.
    public let request: @Sendable (_ destination: OutboundRequest.Destination, Ending, _ nanoseconds: UInt64) -> Void
    /// An issuer's keys were fetched, or the fetch failed.
    public let keyRefresh: @Sendable (_ issuer: String, _ wentWell: Bool) -> Void

    /// A network's metadata was refused because of the issuer that it names.
    public let metadataRefusal: @Sendable (_ network: MCCMNC, _ issuer: String, MetadataRefusal) -> Void

    /// An ID token of a sign-in was validated: the result of every check, also of those after one that failed. Nil, as
    /// it is by default, spares the checks that validation does not need.
    public let idToken: (@Sendable (IDTokenExplanation, CorrelationID?) -> Void)?

    /// Why a network may not name an issuer.
    public enum MetadataRefusal: String, Sendable, Hashable, CaseIterable {
        /// Another issuer is configured for the network.
        case notConfigured = "not_configured"
        /// The keys or endpoints are on hosts of another operator.
        case otherOperator = "other_operator"
        /// The network has named another issuer before.
        case issuerChanged = "issuer_changed"
        /// The issuer is known with other keys or hosts, and does not confirm these.
        case keysChanged = "keys_changed"
        /// The issuer's own OpenID configuration says otherwise.
        case contradicted
        /// The issuer is new, and its own OpenID configuration is not available.
        case unverified
        /// There is no room for another network or issuer.
        case tooMany = "too_many"
    }

    /// An observer of requests, of key fetches, of refused metadata, and of ID tokens.
    public init(
        request: @escaping @Sendable (OutboundRequest.Destination, Ending, UInt64) -> Void,
        keyRefresh: @escaping @Sendable (String, Bool) -> Void,
        metadataRefusal: @escaping @Sendable (MCCMNC, String, MetadataRefusal) -> Void = { _, _, _ in },
        idToken: (@Sendable (IDTokenExplanation, CorrelationID?) -> Void)? = nil
    ) {
        self.request = request
        self.keyRefresh = keyRefresh
        self.metadataRefusal = metadataRefusal
        self.idToken = idToken
    }

    /// Observes nothing.
    public static let none = RelyingPartyObserver(request: { _, _, _ in }, keyRefresh: { _, _ in })
}
