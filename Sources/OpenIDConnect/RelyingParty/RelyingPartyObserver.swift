/// Is told what a relying party's requests to providers come to, as they end. What is called here has to be quick.
public struct RelyingPartyObserver: Sendable {
    /// How a request to a provider ended.
    public enum Ending: Sendable, Hashable {
        /// With an answer of this status.
        case answered(Int)
        case failed(OutboundError.Code)
    }

    /// A request has ended, or was not sent because there are too many or the provider has not answered lately.
    public let request: @Sendable (_ destination: OutboundRequest.Destination, Ending, _ nanoseconds: UInt64) -> Void
    /// An issuer's keys were asked for, and there are new ones, or not.
    public let keyRefresh: @Sendable (_ issuer: String, _ wentWell: Bool) -> Void

    public init(
        request: @escaping @Sendable (OutboundRequest.Destination, Ending, UInt64) -> Void,
        keyRefresh: @escaping @Sendable (String, Bool) -> Void
    ) {
        self.request = request
        self.keyRefresh = keyRefresh
    }

    public static let none = RelyingPartyObserver(request: { _, _, _ in }, keyRefresh: { _, _ in })
}
