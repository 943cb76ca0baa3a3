public import Primitives

/// Where a server listens, its limits and its timeouts.
public struct ServerConfiguration: Sendable {
    /// The addresses to listen on.
    public var listeners: [ListeningPoint]
    /// The number of event loops; 0 makes one for each processor, up to 64. All servers and outbound clients of a
    /// process together can have 160.
    public var loops: Int
    /// Sizes and numbers.
    public var limits: ServerLimits
    public var timeouts: ServerTimeouts
    /// Paths of probes. A connection beyond the limits gets one of a few further places, where it may request these
    /// paths; everything else is refused there. Not with TLS.
    public var probePaths: Set<String> = []

    /// The most loops that a server makes of itself.
    static let mostAutomaticLoops = 64

    /// One listener, in plain HTTP.
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

/// Hosts and a port that a server listens on in the same way.
public struct ListeningPoint: Sendable {
    /// What a listener speaks.
    public enum Kind: Sendable {
        /// HTTP.
        case plain
        /// HTTPS.
        case tls(ServerTLS)
        /// HTTP; redirects every request to the same path of an origin, such as `https://login.example.com`.
        case redirect(origin: String)
    }

    /// Names or addresses to bind, a name with all its addresses; IPv6 addresses without brackets. `::` alone accepts
    /// IPv4, too.
    public var hosts: [String]
    /// The TCP port; 0 lets the system choose.
    public var port: UInt16
    public var kind: Kind
    /// Replaces the server's handler for this listener.
    public var handler: Handler?

    /// Listens on each of `hosts`.
    public init(hosts: [String], port: UInt16, kind: Kind = .plain, handler: Handler? = nil) {
        self.hosts = hosts
        self.port = port
        self.kind = kind
        self.handler = handler
    }
}

/// Sizes and numbers beyond which a request or a connection is refused.
public struct ServerLimits: Sendable {
    /// Bytes of a request line; more is 414.
    public var requestLineBytes = 32_768
    /// Bytes of all header fields; trailers are counted apart. More is 431.
    public var headerBytes = 16384
    /// Header fields of a request; more is 431.
    public var headerFields = 100
    /// Bytes of content after chunked decoding; more is 413.
    public var bodyBytes = 65536
    /// Open connections. One more closes the idlest one of the address (one /64 for IPv6) that has most. It is refused
    /// with 503 if its own address has most and no connection has been idle for a second, or if all have a request in
    /// progress.
    public var connections = 16384
    /// TLS handshakes in progress. One more cuts the oldest one of the address that has most. If its own address has
    /// most and all are younger than a second, it is cut itself.
    public var handshakes = 1024
    /// Connections of one address (one /64 for IPv6); more is 429. Nil for no limit.
    public var connectionsPerAddress: Int? = nil
    /// Addresses that ``connectionsPerAddress`` does not limit, such as reverse proxies'.
    public var addressesWithoutShare: [IPAddressRange] = []
    /// Bytes of output that clients have not received, of all connections together, also of those that wait to be
    /// closed: in memory, and in the system's buffers of their sockets. Beyond it, the slowest readers of the address
    /// with most are cut.
    public var unsentBytes = 256 << 20
    /// Bytes of requests that have not arrived in full, and of those that follow one in progress, of all connections
    /// together. What one connection holds of them up to 4 KiB does not count. Beyond it, the oldest of the address
    /// with most are refused with 503.
    public var incompleteBytes = 64 << 20
    /// The system's buffer for the output of one connection. The system may use twice as much.
    public var sendBufferBytes = 128 << 10
    /// Streamed responses in progress; more is 503.
    public var streams = 256
    /// Requests of one connection; the last response says `Connection: close`.
    public var requestsPerConnection = 100_000
    /// How long a connection must have been idle to make room for another one of the same address.
    package var patience = Duration.seconds(1)

    public init() {}
}

/// Deadlines of a connection's phases, however many bytes drip in meanwhile.
public struct ServerTimeouts: Sendable {
    /// From the start of a connection to the end of its TLS handshake; then it is closed.
    public var handshake: Duration = .seconds(10)
    /// From a request's first byte to the end of its head; then 408.
    public var header: Duration = .seconds(10)
    /// From the end of the head to the end of the content; then 408.
    public var body: Duration = .seconds(30)
    /// Between requests; then the connection is closed. ``header`` applies before the first request if it is shorter.
    /// Longer than most proxies keep a connection (60 s), which otherwise send a request on one that is being closed.
    public var idle: Duration = .seconds(75)
    /// From the first byte to the last of a response that the socket does not take at once, and of each piece of a
    /// streamed response; then the connection is closed. As long again for what the client has not received when its
    /// connection closes; then it is reset.
    public var write: Duration = .seconds(30)

    public init() {}
}

/// The limits of ``ServerLimits`` that a connection applies to its messages. A value without references, because each
/// request copies it.
struct MessageLimits {
    let requestLineBytes: Int
    let headerBytes: Int
    let headerFields: Int
    let bodyBytes: Int
    let requestsPerConnection: Int

    init(_ limits: ServerLimits) {
        requestLineBytes = limits.requestLineBytes
        headerBytes = limits.headerBytes
        headerFields = limits.headerFields
        bodyBytes = limits.bodyBytes
        requestsPerConnection = limits.requestsPerConnection
    }
}
