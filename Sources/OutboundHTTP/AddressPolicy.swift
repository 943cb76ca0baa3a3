/// Which addresses a request may be sent to, asked of every socket just before it connects.
///
/// A URL's host is a name that whoever runs its DNS may point anywhere, and elsewhere a second later. So the policy
/// looks at the resolved address that is about to be used, not at the URL (server-side request forgery, DNS
/// rebinding). Private and special ranges are those of RFC 6890 and its registries.
///
/// Refused whatever the settings: link-local addresses (cloud metadata services live there), multicast, unspecified,
/// broadcast and reserved ones.
public struct AddressPolicy: Sendable, Hashable {
    /// Allows 127.0.0.0/8 and ::1.
    public var allowLoopback: Bool
    /// Allows 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10 (shared address space) and fc00::/7.
    public var allowPrivateNetworks: Bool

    public init(allowLoopback: Bool = false, allowPrivateNetworks: Bool = false) {
        self.allowLoopback = allowLoopback
        self.allowPrivateNetworks = allowPrivateNetworks
    }

    /// Public addresses only.
    public static let publicOnly = AddressPolicy()

    package func permits(_ address: IPAddress) -> Bool {
        switch address.scope {
        case .global: true
        case .loopback: allowLoopback
        case .privateNetwork: allowPrivateNetworks
        case .special: false
        }
    }
}
