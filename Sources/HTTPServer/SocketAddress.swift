/// An Internet address and port.
public struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 or IPv6 address as text, an IPv6 one without brackets.
    public let host: String
    public let port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    public var description: String { host.utf8.contains(ASCII.colon) ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
