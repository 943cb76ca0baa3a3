/// What is demanded of every ID token.
public struct IDTokenRules: Sendable, Hashable {
    /// The accepted algorithms. A token's header selects one of them and nothing else.
    public var algorithms: Set<SigningAlgorithm> = [.rs256, .es256]
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

/// A signature algorithm (RFC 7518 section 3.1).
public enum SigningAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// ECDSA with P-256 and SHA-256.
    case es256 = "ES256"
}
