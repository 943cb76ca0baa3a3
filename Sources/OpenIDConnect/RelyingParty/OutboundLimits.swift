/// How long an outbound request may take in all, and how large its answer may be.
public struct OutboundLimits: Sendable, Hashable {
    public var discoveryTimeout: Duration = .seconds(5)
    public var keysTimeout: Duration = .seconds(5)
    /// Longer than the others: the code is spent on this one request, and there is no second try.
    public var tokenTimeout: Duration = .seconds(10)
    public var userInfoTimeout: Duration = .seconds(5)

    public var discoveryBytes = 64 * 1024
    public var keysBytes = 256 * 1024
    public var tokenBytes = 64 * 1024
    public var userInfoBytes = 64 * 1024
    /// Of a resource that is passed on.
    public var resourceBytes = 64 * 1024

    public init() {}
}
