import CLatchkeySystem
import Glibc

/// An Internet address and port.
public struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// An IPv4 or IPv6 address as text, an IPv6 one without brackets.
    public let host: String
    /// The TCP port.
    public let port: UInt16
    /// The unit of limits by address: an IPv4 address, or the /64 that one IPv6 user commonly has.
    let group: String

    /// `host:port`, or `[host]:port` for IPv6.
    public var description: String { host.utf8.contains(ASCII.colon) ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

extension SocketAddress {
    /// An address from its text.
    public init(host: String, port: UInt16) { self.init(host: host, port: port, group: host) }

    /// The address of a socket; an IPv4-mapped address (RFC 4291 section 2.5.5.2) becomes IPv4.
    init(_ storage: sockaddr_storage) {
        self = withUnsafePointer(to: storage) { pointer in
            if Int32(storage.ss_family) == AF_INET6 {
                return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { SocketAddress($0.pointee) }
            }
            return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                let host = SocketAddress.text(AF_INET, [UInt8](of: address.pointee.sin_addr))
                return SocketAddress(host: host, port: UInt16(bigEndian: address.pointee.sin_port))
            }
        }
    }

    private init(_ address: sockaddr_in6) {
        let bytes = [UInt8](of: address.sin6_addr)
        let port = UInt16(bigEndian: address.sin6_port)
        if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 255, bytes[11] == 255 {
            let host = SocketAddress.text(AF_INET, Array(bytes[12...]))
            self.init(host: host, port: port)
        } else {
            let network = SocketAddress.text(AF_INET6, bytes[..<8] + [UInt8](repeating: 0, count: 8))
            self.init(host: SocketAddress.text(AF_INET6, bytes), port: port, group: network)
        }
    }

    private static func text(_ family: Int32, _ address: [UInt8]) -> String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            guard let base = buffer.baseAddress,
                inet_ntop(family, address, base, socklen_t(buffer.count)) != nil
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
