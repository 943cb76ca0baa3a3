import HTTPServer
import HTTPTypes
import Primitives

/// Finds out whether a request is of somebody inside: from an address that was allowed, with nobody between who may have
/// passed on somebody else's.
struct AddressAllowlist: Sendable {
    let allowed: [IPAddressRange]
    /// Those trusted now: a reload may have changed them.
    let presentProxies: @Sendable () -> TrustedProxies

    /// A request that a proxy has passed on counts as whoever the proxy asks for, if the proxy is trusted, and as nobody
    /// inside if it is not: also one from this very machine, which is where proxies commonly are.
    func include(_ request: Request) -> Bool {
        let proxies = presentProxies()
        let isPassedOn = Self.forwardingFields.contains { request.headers.count(of: $0) > 0 }
        guard let client = isPassedOn ? proxies.toldClient(of: request) : proxies.client(of: request) else {
            return false
        }
        return allowed.contains { $0.contains(client) }
    }

    /// What proxies write; any of them says that the peer is one.
    private static let forwardingFields = [
        "X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host", "X-Forwarded-Proto",
    ].compactMap { HTTPField.Name($0) }
}
