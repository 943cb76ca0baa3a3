/// A URL that a request may be sent to: absolute, https (or http to loopback where that was allowed), without user
/// information or fragment.
///
/// Made once at the edge, from a configuration or a provider's metadata; what has one need not look again.
public struct EndpointURL: Sendable, Hashable, CustomStringConvertible {
    public enum Scheme: String, Sendable { case http, https }

    /// What may be reached besides https.
    public enum Policy: Sendable, Hashable {
        case httpsOnly
        /// Also plain http, but only to 127.0.0.0/8, ::1 and localhost: for development and tests.
        case allowLoopbackHTTP
    }

    public let text: String
    public let scheme: Scheme
    /// In lower case; an IPv6 address without its brackets.
    public let host: String
    public let port: UInt16

    public var description: String { text }
}
