import CLatchkeySystem
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
        self = withUnsafePointer(to: storage) { pointer in
            if Int32(storage.ss_family) == AF_INET6 {
                return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                    SocketAddress([UInt8](of: address.pointee.sin6_addr), port: address.pointee.sin6_port)
                }
            }
            return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                SocketAddress([UInt8](of: address.pointee.sin_addr), port: address.pointee.sin_port)
            }
        }
    }

    /// - Parameters:
    ///   - octets: Four or sixteen octets in network order.
    ///   - port: In network order.
    private init(_ octets: [UInt8], port: in_port_t) {
        let address = IPAddress(octets: octets)
        let isIPv4 = address?.isIPv4 ?? false
        let host = SocketAddress.text(isIPv4 ? AF_INET : AF_INET6, isIPv4 ? octets.suffix(4) : octets[...])
        self.init(host: host, port: UInt16(bigEndian: port), address: address)
    }

    private static func text(_ family: Int32, _ address: ArraySlice<UInt8>) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            guard let base = buffer.baseAddress,
                address.withUnsafeBytes({ inet_ntop(family, $0.baseAddress, base, socklen_t(buffer.count)) }) != nil
            else { return "?" }
            return String(cString: base)
        }
    }
}

extension [UInt8] {
    /// The bytes of a C address structure.
    fileprivate init<Address>(of value: Address) {
        self = Swift.withUnsafeBytes(of: value) { [UInt8]($0) }
    }
}
