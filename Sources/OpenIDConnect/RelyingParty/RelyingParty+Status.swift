public import Primitives

/// Whether requests of a destination are sent (see `CarrierBulkhead`).
public enum CarrierStatus: Sendable, Hashable, CaseIterable {
    case asked
    /// One request is under way, to see whether there is an answer again.
    case tried
    case leftAlone
}

/// One issuer's signing keys as they are at hand.
public struct KeyStatus: Sendable, Hashable {
    public let issuer: String
    public let fetchedAt: Timestamp
    /// Until when no newer ones are needed.
    public let freshUntil: Timestamp
    /// How many of them can be used.
    public let count: Int
}

/// How a relying party's dealings with its providers stand. For operators.
extension RelyingParty {
    /// Requests under way.
    public var requestsUnderWay: Int { gate.underWay }

    /// The destinations that are not asked without more ado.
    public var failingDestinations: [(destination: OutboundRequest.Destination, status: CarrierStatus)] {
        gate.statuses
    }

    /// The keys at hand, one set for each issuer and place that it has them at.
    public var keyStatuses: [KeyStatus] { keyCaches.statuses }
}
