/// Is called when a relying party's requests to providers end. The closures must return quickly.
public struct RelyingPartyObserver: Sendable {
    /// How a request to a provider ended.
    public enum Ending: Sendable, Hashable {
        /// With a response of this status.
        case answered(Int)
        /// Without a response.
        case failed(OutboundError.Code)
    }

    /// A request ended after some nanoseconds, or was not sent because of the carrier's limit or circuit breaker.
    public let request: @Sendable (_ destination: OutboundRequest.Destination, Ending, _ nanoseconds: UInt64) -> Void
    /// An issuer's keys were fetched, or the fetch failed.
    public let keyRefresh: @Sendable (_ issuer: String, _ wentWell: Bool) -> Void

    /// An observer of requests and of key fetches.
    public init(
        request: @escaping @Sendable (OutboundRequest.Destination, Ending, UInt64) -> Void,
        keyRefresh: @escaping @Sendable (String, Bool) -> Void
    ) {
        self.request = request
        self.keyRefresh = keyRefresh
    }

    /// Observes nothing.
    public static let none = RelyingPartyObserver(request: { _, _, _ in }, keyRefresh: { _, _ in })
}
