/// Where a server listens and what it puts up with.
public struct ServerConfiguration: Sendable {
    public var listeners: [ListeningPoint]
    /// Event loops; 0 makes one for each processor.
    public var loops: Int
    public var limits: ServerLimits
    public var timeouts: ServerTimeouts

    /// With one listener, in plain HTTP.
    public init(
        hosts: [String] = ["127.0.0.1"], port: UInt16 = 8080, loops: Int = 0, limits: ServerLimits = .init(),
        timeouts: ServerTimeouts = .init()
    ) {
        listeners = [ListeningPoint(hosts: hosts, port: port)]
        self.loops = loops
        self.limits = limits
        self.timeouts = timeouts
    }
}

/// Where a server listens in one way.
public struct ListeningPoint: Sendable {
    public enum Kind: Sendable {
        case plain
        case tls(ServerTLS)
        /// In plain HTTP; sends everybody to the same path at an origin, such as `https://login.example.com`.
        case redirect(origin: String)
    }

    /// Names or addresses to bind; an IPv6 address without brackets. Each gets a listener.
    public var hosts: [String]
    /// 0 lets the system choose.
    public var port: UInt16
    public var kind: Kind
    /// Answers what comes here in place of the server's handler.
    public var handler: Handler?

    public init(hosts: [String], port: UInt16, kind: Kind = .plain, handler: Handler? = nil) {
        self.hosts = hosts
        self.port = port
        self.kind = kind
        self.handler = handler
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
    /// TLS handshakes under way at a time. With one more, that which has waited for its client the longest is cut, or, if
    /// all are younger than a second, the new one.
    public var handshakes = 1024
    /// Connections of one address (of one /64 for IPv6); beyond it 429. Nil for no such limit.
    public var connectionsPerAddress: Int? = nil
    /// Answers under way that are made as time goes on; beyond it 503.
    public var streams = 256
    /// Requests of one connection; the last one's answer says `Connection: close`.
    public var requestsPerConnection = 100_000

    public init() {}
}

/// Times in which a phase must be over, however many bytes drip in meanwhile.
public struct ServerTimeouts: Sendable {
    /// From a connection's beginning to the end of its TLS handshake; then it is closed.
    public var handshake: Duration = .seconds(10)
    /// From a request's first byte to the end of its head; then 408.
    public var header: Duration = .seconds(10)
    /// From the end of the head to the end of the content; then 408.
    public var body: Duration = .seconds(30)
    /// Between requests; then the connection is closed. Before the first it is ``header``, if that is shorter.
    public var idle: Duration = .seconds(60)
    /// From the first byte of an answer that does not go out at once to its last, and of each piece of one that is made as
    /// time goes on; then the connection is closed.
    public var write: Duration = .seconds(30)

    public init() {}
}
