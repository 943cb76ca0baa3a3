public import Primitives

/// The one thing this module asks of the network: send a request, get the whole answer.
///
/// An implementation must not follow redirects, must check certificates, must end by ``OutboundRequest/timeout`` in
/// all (not per read), must cut the answer at ``OutboundRequest/maximumBodyBytes`` after decompression, and must not
/// send a request twice.
public protocol HTTPClient: Sendable {
    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse
}

/// A request to a carrier or provider.
public struct OutboundRequest: Sendable {
    public enum Method: String, Sendable { case get = "GET", post = "POST" }

    public var method: Method
    public var url: EndpointURL
    /// Field names and values, to be sent as they are. Values come from us, never from a carrier or client unchecked.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]
    /// For the whole exchange: waiting for a place in the pool, resolution, handshake, request, answer.
    public var timeout: Duration
    public var maximumBodyBytes: Int
    /// Whose request it is, where that is a carrier's: an implementation counts connections to a host by carrier, so
    /// that two on one host do not wait for each other.
    public var destination: Destination?

    /// One step at one carrier: requests of a destination fail for the same reasons.
    public struct Destination: Sendable, Hashable {
        public enum Step: Sendable, Hashable, CaseIterable { case discovery, keys, token, userInfo, resource }

        /// The issuer, or what else names the carrier.
        public let carrier: String
        public let step: Step

        public init(carrier: String, step: Step) {
            self.carrier = carrier
            self.step = step
        }
    }

    public init(
        method: Method, url: EndpointURL, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        timeout: Duration, maximumBodyBytes: Int, destination: Destination? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumBodyBytes = maximumBodyBytes
        self.destination = destination
    }
}

/// A whole answer: of any status; redirects too are answers.
public struct OutboundResponse: Sendable {
    public var status: Int
    public var contentType: String?
    public var cacheControl: String?
    public var retryAfter: String?
    /// Of the answer's `Date` field, if it has one.
    public var date: String?
    public var body: [UInt8]
    /// When the server's certificate expires, where a client was told to find out and a new connection was made.
    public var certificateExpiry: Timestamp?

    public init(
        status: Int, contentType: String? = nil, cacheControl: String? = nil, retryAfter: String? = nil,
        date: String? = nil, body: [UInt8] = [], certificateExpiry: Timestamp? = nil
    ) {
        self.status = status
        self.contentType = contentType
        self.cacheControl = cacheControl
        self.retryAfter = retryAfter
        self.date = date
        self.body = body
        self.certificateExpiry = certificateExpiry
    }
}

/// Why there is no answer.
public struct OutboundError: Error, Sendable, Hashable {
    public enum Code: String, Sendable, CaseIterable {
        /// The time for the whole exchange was over.
        case timedOut = "timed_out"
        /// The name did not resolve, or nothing took the connection.
        case unreachable
        /// The address is one that requests must not be sent to.
        case addressRefused = "address_refused"
        /// No TLS session, or a certificate that does not hold.
        case tls
        /// What came is not HTTP, or ended before it was whole.
        case malformed
        /// The answer is larger than allowed.
        case tooLarge = "too_large"
        /// Too many requests to this host are under way or waiting.
        case overloaded
        /// The server has not answered lately and is not asked for a while.
        case suspended
        /// The client was shut down.
        case shutDown = "shut_down"
    }

    public let code: Code
    /// True if the request may have reached the server, so that it must not be sent again.
    public let mayHaveBeenSent: Bool
    /// What the transport said; without the request's or answer's content.
    public let reason: String

    /// Seconds after which another try makes sense, if that is known.
    public let retryAfter: Int64?

    public init(_ code: Code, mayHaveBeenSent: Bool, reason: String, retryAfter: Int64? = nil) {
        self.code = code
        self.mayHaveBeenSent = mayHaveBeenSent
        self.reason = reason
        self.retryAfter = retryAfter
    }
}
