/// Where a server listens and what it puts up with.
public struct ServerConfiguration: Sendable {
    /// Names or addresses to bind; an IPv6 address without brackets. Each gets a listener.
    public var hosts: [String]
    /// 0 lets the system choose.
    public var port: UInt16
    /// Event loops; 0 makes one for each processor.
    public var loops: Int
    public var limits: ServerLimits
    public var timeouts: ServerTimeouts

    public init(
        hosts: [String] = ["127.0.0.1"], port: UInt16 = 8080, loops: Int = 0, limits: ServerLimits = .init(),
        timeouts: ServerTimeouts = .init()
    ) {
        self.hosts = hosts
        self.port = port
        self.loops = loops
        self.limits = limits
        self.timeouts = timeouts
    }
}

/// Sizes and numbers beyond which a request or a connection is refused.
public struct ServerLimits: Sendable {
    /// Bytes of a request line; beyond it 414.
    public var requestLineBytes = 8192
    /// Bytes of all fields together, trailers counted apart; beyond it 431.
    public var headerBytes = 16384
    /// Fields of a head; beyond it 431.
    public var headerFields = 100
    /// Bytes of content after the chunked coding was undone; beyond it 413.
    public var bodyBytes = 65536
    /// Connections in all; beyond it 503.
    public var connections = 16384
    /// Connections of one address (of one /64 for IPv6); beyond it 429. Nil for no such limit.
    public var connectionsPerAddress: Int? = nil
    /// Requests of one connection; the last one's answer says `Connection: close`.
    public var requestsPerConnection = 100_000

    public init() {}
}

/// Times in which a phase must be over, however many bytes drip in meanwhile.
public struct ServerTimeouts: Sendable {
    /// From a request's first byte to the end of its head; then 408.
    public var header: Duration = .seconds(10)
    /// From the end of the head to the end of the content; then 408.
    public var body: Duration = .seconds(30)
    /// Between requests; then the connection is closed. Before the first it is ``header``, if that is shorter.
    public var idle: Duration = .seconds(60)
    /// From the first byte of an answer that does not go out at once to its last; then the connection is closed.
    public var write: Duration = .seconds(30)

    public init() {}
}
