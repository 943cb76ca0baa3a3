package import Glibc
package import Primitives

extension IPAddress {
    /// The address of an Internet socket, after its C structure; nil for a socket of another family.
    package init?(socket address: UnsafePointer<sockaddr>) {
        let bytes = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        // At the places of `sin_addr` and `sin6_addr`.
        case AF_INET: self.init(octets: UnsafeRawBufferPointer(start: bytes + 4, count: 4))
        case AF_INET6: self.init(octets: UnsafeRawBufferPointer(start: bytes + 8, count: 16))
        default: return nil
        }
    }
}
