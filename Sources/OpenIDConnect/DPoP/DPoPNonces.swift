import Primitives
import Synchronization

/// The newest nonce of each server, for the proofs of later requests (RFC 9449 sections 8.2 and 9). Bounded: the oldest
/// nonce gives way, and its server demands one again.
final class DPoPNonces: Sendable {
    /// Who gives nonces. An authorization server and a resource server on one origin may give nonces of their own.
    struct Server: Sendable, Hashable {
        let scheme: EndpointURL.Scheme
        let authority: String
        let hasResources: Bool

        init(of url: EndpointURL, hasResources: Bool) {
            (scheme, authority, self.hasResources) = (url.scheme, url.authority, hasResources)
        }
    }

    static let capacity = 256

    private let nonces = Mutex(BoundedCache<Server, DPoPNonce>(capacity: capacity))

    subscript(server: Server) -> DPoPNonce? { nonces.withLock { $0[server] } }

    func keep(_ nonce: DPoPNonce, of server: Server) { nonces.withLock { $0.put(nonce, for: server) } }
}
