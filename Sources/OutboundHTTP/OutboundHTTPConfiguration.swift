import Glibc
public import Primitives

/// How a ``OutboundHTTPClient`` reaches the network.
public struct OutboundHTTPConfiguration: Sendable, Hashable {
    /// How many exchanges of one provider with one scheme, host and port may be under way at once. Others wait; the
    /// callers limit how many.
    public var perHostConnections = 64
    /// How many connections to all hosts are kept open for reuse. Beyond that, the loop that has one more closes the
    /// connection of its own that has been idle for longest.
    public var maximumIdleConnections = 256
    /// After how many seconds an idle connection is not reused.
    public var keptConnectionSeconds = 60
    /// Which addresses may be connected to: public ones by default. Not used with a ``proxy``, which resolves names
    /// itself and must have such a policy.
    public var addressPolicy = AddressPolicy.publicOnly
    /// Which hosts plain http may be sent to: at loopback addresses, and at private ones to the hosts that it names; at
    /// all addresses, if it allows any host. The ``addressPolicy`` must also allow the address.
    public var urlPolicy = EndpointURL.Policy.httpsOnly
    /// The path of a PEM file with the only certificate authorities to trust; nil for the system's.
    public var caBundle: String?
    /// The path of a PEM file with certificate authorities to trust besides the others; nil for none.
    public var additionalCABundle: String?
    /// Where the system has its certificate authorities; nil for OpenSSL's own places.
    package var systemAuthorities: SystemAuthorities?
    /// The `User-Agent` field.
    public var userAgent = "latchkey/1"
    /// The `http://` URL of a proxy for all requests, with optional user information (percent-encoded) and an optional
    /// port (1080); nil for none. Https requests go through a tunnel (CONNECT). `http_proxy` and other environment
    /// variables are ignored.
    public var proxy: String?
    /// For resolution, connection and TLS handshake together. A request's own deadline also counts.
    public var connectTimeout: Duration = .seconds(5)
    /// Whether to find out when servers' certificates expire.
    public var inspectsCertificates = false

    package struct SystemAuthorities: Sendable, Hashable {
        /// Certificates under the hashes of their subjects, each read when it is needed.
        package let directory: String
        /// A PEM file with more of them. If the directory has any, it is read when one is needed that is not there.
        package let bundle: String
    }

    public init() {}
}

extension OutboundHTTPConfiguration {
    /// Whether plain http may be sent to this address of a host that ``urlPolicy`` allows.
    package func permitsPlainHTTP(to host: String, at address: IPAddress) -> Bool {
        urlPolicy.allowsAnyHTTP || address.scope == .loopback
            || address.scope == .privateNetwork && urlPolicy.httpHosts.contains(host)
    }

    func check() throws(OutboundHTTPStartError) {
        let bundles = [caBundle, additionalCABundle].compactMap(\.self)
        for text in [userAgent, proxy ?? ""] + bundles where !text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) {
            throw OutboundHTTPStartError(.configuration, "user agent, proxy or CA bundle contains a control character")
        }
        for bundle in bundles where access(bundle, R_OK) != 0 { throw OutboundHTTPStartError(.caBundle, bundle) }
    }
}

/// Why a ``OutboundHTTPClient`` could not start.
public struct OutboundHTTPStartError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What failed.
    public enum Code: String, Sendable {
        /// OpenSSL cannot be used.
        case library = "tls_unavailable"
        /// The file of certificate authorities cannot be read.
        case caBundle = "ca_bundle_unreadable"
        /// The system could not start a thread.
        case thread = "thread_unavailable"
        /// A text of the configuration contains a control character, or the proxy is none that can be used.
        case configuration = "configuration_invalid"
    }

    /// What failed.
    public let code: Code
    public let reason: String

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// `code: reason`
    public var description: String { "\(code.rawValue): \(reason)" }
}
