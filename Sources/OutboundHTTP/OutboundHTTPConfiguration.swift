import CLatchkeyCurl

/// How a ``CurlHTTPClient`` reaches the network.
public struct OutboundHTTPConfiguration: Sendable, Hashable {
    /// Exchanges under way at once to one host and port. Default 64.
    public var perHostConnections: Int
    /// Exchanges that may wait for one of those; the next one fails with `overloaded`. Default 1024.
    public var perHostWaiting: Int
    /// Connections kept open for reuse, over all hosts; the longest idle goes first. Default 256.
    public var keptConnections: Int
    /// Seconds after which an idle connection is not used again. Default 60.
    public var keptConnectionSeconds: Int
    /// Which addresses may be connected to. Default: public ones only. Not asked when there is a ``proxy``: the proxy
    /// does the resolving then, and is the place for such a policy.
    public var addressPolicy: AddressPolicy
    /// Sends plain http too, but only to a loopback address: for development and tests. Default false. The addresses
    /// themselves are the ``addressPolicy``'s to allow.
    public var allowLoopbackHTTP: Bool
    /// Path of a PEM file of the only certificate authorities to trust; nil for the system's. Default nil.
    public var caBundle: String?
    /// The `User-Agent` field. Default `latchkey/1`.
    public var userAgent: String
    /// URL of a proxy for all requests; nil for none. `http_proxy` and its like in the environment count for nothing.
    public var proxy: String?
    /// For resolution, connection and TLS handshake together; a request's own deadline also holds. Default 5 s.
    public var connectTimeout: Duration
    /// Finds out when the servers' certificates expire, and tells in errors what is wrong with one. Default false: it
    /// costs a little for each connection.
    public var inspectsCertificates: Bool

    public init(
        perHostConnections: Int = 64, perHostWaiting: Int = 1024, keptConnections: Int = 256,
        keptConnectionSeconds: Int = 60, addressPolicy: AddressPolicy = .publicOnly, allowLoopbackHTTP: Bool = false,
        caBundle: String? = nil, userAgent: String = "latchkey/1", proxy: String? = nil,
        connectTimeout: Duration = .seconds(5), inspectsCertificates: Bool = false
    ) {
        self.perHostConnections = perHostConnections
        self.perHostWaiting = perHostWaiting
        self.keptConnections = keptConnections
        self.keptConnectionSeconds = keptConnectionSeconds
        self.addressPolicy = addressPolicy
        self.allowLoopbackHTTP = allowLoopbackHTTP
        self.caBundle = caBundle
        self.userAgent = userAgent
        self.proxy = proxy
        self.connectTimeout = connectTimeout
        self.inspectsCertificates = inspectsCertificates
    }
}

extension OutboundHTTPConfiguration {
    func check() throws(OutboundHTTPStartError) {
        for text in [userAgent, proxy ?? "", caBundle ?? ""] where !text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) {
            throw OutboundHTTPStartError(.configuration, "a control character in user agent, proxy or CA bundle")
        }
        guard let caBundle, ccurl_can_read(caBundle) == 0 else { return }
        throw OutboundHTTPStartError(.caBundle, caBundle)
    }
}

/// Why a ``CurlHTTPClient`` could not be made.
public struct OutboundHTTPStartError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// libcurl did not start, or does not know an option that the client cannot do without.
        case library = "curl_unavailable"
        /// The file of certificate authorities cannot be read.
        case caBundle = "ca_bundle_unreadable"
        /// The system gave no thread.
        case thread = "thread_unavailable"
        /// A text of the configuration holds a control character.
        case configuration = "configuration_invalid"
    }

    public let code: Code
    public let reason: String

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { "\(code.rawValue): \(reason)" }
}
