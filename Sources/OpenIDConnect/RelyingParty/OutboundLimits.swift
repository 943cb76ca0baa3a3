/// How long an outbound request may take in all, and how long its response body may be, in bytes.
public struct OutboundLimits: Sendable, Hashable {
    /// For metadata.
    public var discoveryTimeout: Duration = .seconds(5)
    /// For key sets.
    public var keysTimeout: Duration = .seconds(5)
    /// For token requests, and for pushed authorization requests. Longer than the others: the code is spent on this one
    /// request, and there is no second try.
    public var tokenTimeout: Duration = .seconds(10)
    /// For userinfo, user endpoints and resources.
    public var userInfoTimeout: Duration = .seconds(5)

    /// Of metadata.
    public var discoveryBytes = 64 * 1024
    /// Of key sets.
    public var keysBytes = 256 * 1024
    /// Of token responses, and of responses to pushed authorization requests.
    public var tokenBytes = 64 * 1024
    /// Of userinfo and of a user endpoint's response.
    public var userInfoBytes = 64 * 1024
    /// Of a resource that is passed on.
    public var resourceBytes = 64 * 1024

    /// The defaults.
    public init() {}
}
