/// What is demanded of port tokens beside ``IDTokenRules/algorithms`` and ``IDTokenRules/clockSkewSeconds``.
public struct PortTokenRules: Sendable, Hashable {
    /// How long ago a port token may have been issued, in seconds, beside the clock skew: carriers give one for 180 days.
    public var maximumAgeSeconds: Int64 = 180 * 86_400
    /// The longest port token that is looked at, in bytes.
    public var maximumBytes = 8 * 1024
    /// How many issuers are asked for their keys for the sake of one sign-in.
    public var maximumIssuers = 4

    public init() {}
}
