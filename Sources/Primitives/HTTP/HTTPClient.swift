/// A client of HTTP: sends a request, gets the whole response.
///
/// An implementation must not follow redirects, must verify certificates, must end by ``OutboundRequest/timeout`` in
/// all (not per read), must refuse a body longer than ``OutboundRequest/maximumBodyBytes`` after decompression, and
/// must not send a request twice. The certificate of ``OutboundRequest/clientTLS`` is presented to the server of the
/// URL only, and a connection that presented one carries no request without it or with another one.
public protocol HTTPClient: Sendable {
    /// Sends a request.
    /// - Throws: ``OutboundError`` if there is no response. A response of any status is not an error.
    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse
}

/// A request to a provider.
public struct OutboundRequest: Sendable {
    /// The method of a request.
    public enum Method: String, Sendable {
        /// RFC 9110 section 9.3.1.
        case get = "GET"
        /// RFC 9110 section 9.3.3.
        case post = "POST"
    }

    public var method: Method
    /// Where the request goes.
    public var url: EndpointURL
    /// Header fields, sent unchanged. Values are ours, or were checked before.
    public var headers: [(name: String, value: String)]
    /// The content; empty for none.
    public var body: [UInt8]
    /// For the whole exchange: waiting for a connection, resolution, handshake, request, response.
    public var timeout: Duration
    /// The longest response body to accept, in bytes after decompression.
    public var maximumBodyBytes: Int
    /// The provider's step that the request belongs to; nil for other requests. Connections are limited by provider, so
    /// that two providers on one host do not wait for each other.
    public var destination: Destination?
    /// The sign-in that waits for the response, for the log; nil for none. It is not sent.
    public var correlationID: CorrelationID?
    /// What the client presents if the server asks for a certificate (RFC 8705); nil for nothing.
    public var clientTLS: ClientTLS?

    /// One step at one provider. Its requests fail for the same reasons, so they share a circuit breaker.
    public struct Destination: Sendable, Hashable {
        /// What a request is for. The raw value is its name in metrics and on the status page.
        public enum Step: String, Sendable, Hashable, CaseIterable {
            case discovery, keys, token
            case userInfo = "userinfo"
            case resource
            case pushedAuthorization = "par"
            case backchannelAuthentication = "ciba"
            case numberVerification = "number_verification"
            case simSwap = "sim_swap"
            case telcoFinder = "telco_finder"
        }

        /// The issuer, or another name of the provider.
        public let carrier: String
        /// What the request is for.
        public let step: Step

        /// A step at a provider.
        public init(carrier: String, step: Step) {
            self.carrier = carrier
            self.step = step
        }
    }

    /// A request with limits on time and response.
    public init(
        method: Method, url: EndpointURL, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        timeout: Duration, maximumBodyBytes: Int, destination: Destination? = nil, correlationID: CorrelationID? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumBodyBytes = maximumBodyBytes
        self.destination = destination
        self.correlationID = correlationID
    }
}

/// A whole response of any status, redirects included.
public struct OutboundResponse: Sendable, Hashable {
    /// The status code.
    public var status: Int
    /// The `Content-Type` field.
    public var contentType: String?
    /// All `Cache-Control` fields, joined by commas.
    public var cacheControl: String?
    /// The `Retry-After` field.
    public var retryAfter: String?
    /// The `Date` field.
    public var date: String?
    /// All `DPoP-Nonce` fields, joined by commas (RFC 9449 section 8.1).
    public var dpopNonce: String?
    /// All `WWW-Authenticate` fields, joined by commas.
    public var wwwAuthenticate: String?
    /// The `Location` field. It is not followed.
    public var location: String?
    /// The content after decompression.
    public var body: [UInt8]
    /// When the server's certificate expires, if the client inspects certificates and made a new connection.
    public var certificateExpiry: Timestamp?

    /// A response.
    public init(
        status: Int, contentType: String? = nil, cacheControl: String? = nil, retryAfter: String? = nil,
        date: String? = nil, dpopNonce: String? = nil, wwwAuthenticate: String? = nil, body: [UInt8] = [],
        certificateExpiry: Timestamp? = nil
    ) {
        self.status = status
        self.contentType = contentType
        self.cacheControl = cacheControl
        self.retryAfter = retryAfter
        self.date = date
        self.dpopNonce = dpopNonce
        self.wwwAuthenticate = wwwAuthenticate
        self.body = body
        self.certificateExpiry = certificateExpiry
    }
}

/// Why there is no response.
public struct OutboundError: Error, Sendable, Hashable {
    public enum Code: String, Sendable, CaseIterable {
        /// The exchange did not end within its timeout.
        case timedOut = "timed_out"
        /// The name did not resolve, or no server accepted the connection.
        case unreachable
        /// The address policy does not allow the address.
        case addressRefused = "address_refused"
        /// The TLS handshake failed, or the certificate is not valid.
        case tls
        /// The connection was closed without an answer.
        case closed
        /// The response is not HTTP, or ended before it was complete.
        case malformed
        /// The response is larger than allowed.
        case tooLarge = "too_large"
        /// Too many requests to this host are under way or waiting.
        case overloaded
        /// The circuit breaker is open: the server has not responded lately.
        case suspended
        /// The client was shut down.
        case shutDown = "shut_down"
    }

    public let code: Code
    /// True if the request may have reached the server, so that it must not be sent again.
    public let mayHaveBeenSent: Bool
    /// The host that the request was for, if the transport names it.
    public let host: String?
    /// What happened, such as `connection refused`: the transport's text, without content of the request or response.
    public let fault: String
    /// Seconds after which another try makes sense, if known.
    public let retryAfter: Int64?

    /// An error of the transport.
    public init(_ code: Code, mayHaveBeenSent: Bool, host: String? = nil, reason: String, retryAfter: Int64? = nil) {
        self.code = code
        self.mayHaveBeenSent = mayHaveBeenSent
        self.host = host
        fault = reason
        self.retryAfter = retryAfter
    }

    /// The ``fault``, after the ``host`` if there is one.
    public var reason: String { host.map { "\($0): \(fault)" } ?? fault }
}
