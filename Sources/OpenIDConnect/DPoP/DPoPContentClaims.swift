import Crypto
import Primitives

/// A claim that a provider demands in DPoP proofs beyond RFC 9449: those of the CAMARA Security and Interoperability
/// Profile r4.2, section "Additional Recommendations for DPoP Implementations". The raw value is its name.
public enum DPoPClaim: String, Sendable, Hashable, CaseIterable {
    /// The hash of the query.
    case queryHash = "camara:qh"
    /// The hash of the body.
    case bodyHash = "camara:bh"
}

/// The claims that bind a proof to the content of its request, which `htm` and `htu` do not cover. Each is the SHA-256
/// in base64url.
struct DPoPContentClaims: Sendable {
    /// Of the query as it is sent; nil for a request without one.
    private(set) var queryHash: String?
    /// Of the body as it is sent: without one, of no bytes.
    private(set) var bodyHash: String?

    /// None.
    init() {}

    /// Those that are demanded, of a request.
    init(_ demanded: Set<DPoPClaim>, of request: OutboundRequest) {
        if demanded.contains(.queryHash) { queryHash = request.url.query.map { Self.hash(Array($0.utf8)) } }
        if demanded.contains(.bodyHash) { bodyHash = Self.hash(request.body) }
    }

    private static func hash(_ bytes: [UInt8]) -> String { Base64URL.encode(Array(SHA256.hash(data: bytes))) }
}
