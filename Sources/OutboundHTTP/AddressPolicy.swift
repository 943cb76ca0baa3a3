package import Primitives

/// Which addresses requests may be sent to. Checked for every socket just before it connects.
///
/// The owner of a host name can point it at any address, and at another one a second later. So the policy checks the
/// resolved address that is about to be used, not the URL (server-side request forgery, DNS rebinding). Private and
/// special ranges are from RFC 6890 and its registries.
///
/// Always refused: link-local addresses (cloud metadata services use them), multicast, unspecified, broadcast and
/// reserved ones.
public struct AddressPolicy: Sendable, Hashable {
    /// Allows 127.0.0.0/8 and ::1.
    public var allowLoopback: Bool
    /// Allows 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10 (shared address space) and fc00::/7.
    public var allowPrivateNetworks: Bool
    /// Allows every address. For the health check, which asks this machine's own server.
    package var allowsAll = false

    /// A policy that allows public addresses, and others as named.
    public init(allowLoopback: Bool = false, allowPrivateNetworks: Bool = false) {
        self.allowLoopback = allowLoopback
        self.allowPrivateNetworks = allowPrivateNetworks
    }

    /// Public addresses only.
    public static let publicOnly = AddressPolicy()

    package func permits(_ address: IPAddress) -> Bool {
        switch address.scope {
        case _ where allowsAll: true
        case .global: true
        case .loopback: allowLoopback
        case .privateNetwork: allowPrivateNetworks
        case .special: false
        }
    }
}
