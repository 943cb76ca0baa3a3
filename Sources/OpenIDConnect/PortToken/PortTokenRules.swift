/// What is demanded of port tokens beside ``SigningAlgorithm/standard`` and ``IDTokenRules/clockSkewSeconds``.
public struct PortTokenRules: Sendable, Hashable {
    /// Whether `typ` must be `port_token+jwt`. Otherwise it may also be absent; such a token must have neither `exp`
    /// nor `events`, because every ID token and access token has the one, and every logout token the other.
    public var requiresType = true
    /// How long ago a port token may have been issued, in seconds, beside the clock skew: carriers issue them for 180
    /// days.
    public var maximumAgeSeconds: Int64 = 180 * 86_400
    /// The longest port token that is read, in bytes.
    public var maximumBytes = 8 * 1024
    /// How many issuers are asked for their keys during one sign-in.
    public var maximumIssuers = 4

    /// The defaults.
    public init() {}
}
