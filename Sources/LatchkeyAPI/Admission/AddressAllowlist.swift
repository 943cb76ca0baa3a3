import HTTPServer
import HTTPTypes
import Primitives

/// Checks whether a request comes from an allowed address, directly or through trusted proxies.
struct AddressAllowlist: Sendable {
    let allowed: [IPAddressRange]
    /// A reload may change them.
    let currentProxies: @Sendable () -> TrustedProxies

    /// A forwarded request counts as its client's if the proxy is trusted, and is refused if it is not: also from this
    /// machine, where proxies commonly run. An address of this machine counts only as the peer's own: a proxy repeats
    /// what others tell it.
    func contains(_ request: Request) -> Bool {
        let proxies = currentProxies()
        let isForwarded = Self.forwardingFields.contains { request.headers.count(of: $0) > 0 }
        guard let client = isForwarded ? proxies.forwardedClient(of: request) : proxies.client(of: request),
            !(isForwarded && client.isLoopback)
        else { return false }
        return allowed.contains { $0.contains(client) }
    }

    /// Fields that proxies write; any of them shows that the peer is a proxy.
    private static let forwardingFields = [
        "X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Proto",
    ].compactMap { HTTPField.Name($0) }
}
