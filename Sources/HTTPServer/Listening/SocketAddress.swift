import Glibc
import HTTPCore
package import Primitives

/// An Internet address and port.
public struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 or IPv6 address as text, an IPv6 one without brackets.
    public let host: String
    /// The TCP port.
    public let port: UInt16
    /// ``host`` as a number, which no request has to read again; nil for other text.
    package let address: IPAddress?

    /// `host:port`, or `[host]:port` for IPv6.
    public var description: String { host.utf8.contains(ASCII.colon) ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

extension SocketAddress {
    /// An address from its text.
    public init(host: String, port: UInt16) { self.init(host: host, port: port, address: IPAddress(host)) }

    /// The address of a socket; an IPv4-mapped address (RFC 4291 section 2.5.5.2) becomes IPv4.
    init(_ storage: sockaddr_storage) {
        let (address, port) = withUnsafePointer(to: storage) { storage in
            (
                storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { IPAddress(socket: $0) },
                // At the same place in an IPv6 address.
                storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { $0.pointee.sin_port }
            )
        }
        self.init(host: address.map(Self.text) ?? "?", port: UInt16(bigEndian: port), address: address)
    }

    private static func text(_ address: IPAddress) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            let octets = [address.high.bigEndian, address.low.bigEndian]
            let text = octets.withUnsafeBytes { octets in
                address.isIPv4
                    ? inet_ntop(
                        AF_INET, octets.baseAddress?.advanced(by: 12), buffer.baseAddress, socklen_t(buffer.count))
                    : inet_ntop(AF_INET6, octets.baseAddress, buffer.baseAddress, socklen_t(buffer.count))
            }
            return text.map { String(cString: $0) } ?? "?"
        }
    }
}
