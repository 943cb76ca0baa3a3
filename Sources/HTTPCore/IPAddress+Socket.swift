package import Glibc
package import Primitives

extension IPAddress {
    /// The address of an Internet socket, after its C structure; nil for a socket of another family.
    package init?(socket address: UnsafePointer<sockaddr>) {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            self.init(
                octets: address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    withUnsafeBytes(of: $0.pointee.sin_addr) { [UInt8]($0) }
                })
        case AF_INET6:
            self.init(
                octets: address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    withUnsafeBytes(of: $0.pointee.sin6_addr) { [UInt8]($0) }
                })
        default: return nil
        }
    }
}
