import Primitives
import Synchronization

/// The newest nonce of each server, for the proofs of later requests (RFC 9449 sections 8.2 and 9). Bounded: the oldest
/// nonce gives way, and its server demands one again.
final class DPoPNonces: Sendable {
    /// Who gives nonces. An authorization server and a resource server on one origin may give different nonces.
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

/// A nonce that a server demands in DPoP proofs (RFC 9449 section 8): 1 to 512 characters NQCHAR, which are visible
/// ASCII without quotation mark and backslash.
struct DPoPNonce: Sendable, Hashable {
    /// The RFC sets no limit. This one keeps a proof shorter than the header fields that servers accept.
    static let maximumBytes = 512

    let text: String

    /// The nonce in a `DPoP-Nonce` field (RFC 9449 section 8.1); nil if the value has another length or other
    /// characters, as two fields in one list have.
    init?(_ field: String) {
        guard (1...Self.maximumBytes).contains(field.utf8.count), field.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        text = field
    }

    /// NQCHAR (RFC 6749 appendix A).
    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte.isVisibleASCII && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}
