/// What is demanded of every ID token.
public struct IDTokenRules: Sendable, Hashable {
    /// The accepted values of the header parameter `typ`.
    public var types = IDTokenType.standard
    /// How far the provider's clock may be off, in seconds.
    public var clockSkewSeconds: Int64 = 60
    /// How long ago a token may have been issued, in seconds, beside the clock skew.
    public var maximumAgeSeconds: Int64 = 600
    /// The longest token that is read, in bytes.
    public var maximumBytes = 16 * 1024

    /// The defaults.
    public init() {}
}
