import Crypto
import Primitives

/// A DPoP proof (RFC 9449 section 4.2): shows for one request that its sender has the private key that the tokens are
/// bound to.
struct DPoPProof: Sendable {
    /// The header's `typ`.
    static let type = "dpop+jwt"

    /// The method of the request (`htm`).
    let method: OutboundRequest.Method
    /// The URL of the request; `htu` is it without query.
    let url: EndpointURL
    /// The access token that the request has, whose hash is `ath`; nil for a request without one.
    let accessToken: Secret?
    /// The nonce that the server has given (`nonce`), if it has given one.
    let nonce: DPoPNonce?
    /// Of this proof alone (`jti`): a server refuses a second one.
    let id: String
    /// `iat`.
    let issuedAt: Timestamp
    /// Those that the provider demands beyond the RFC.
    var contentClaims: [DPoPClaim: String] = [:]

    /// The proof in compact form, signed with ES256.
    /// - Throws: ``OIDCError/Code/clientRefused`` if the key cannot sign.
    func text(signedWith key: DPoPKey) throws(OIDCError) -> Secret {
        var claims = JSONObjectWriter(capacity: 256)
        claims.add("jti", id)
        claims.add("htm", method.rawValue)
        claims.add("htu", url.withoutQuery)
        claims.add("iat", issuedAt.secondsSinceEpoch)
        if let accessToken { claims.add("ath", Base64URL.encode(accessToken.sha256)) }
        claims.add("nonce", ifPresent: nonce?.text)
        for claim in DPoPClaim.allCases {
            if let hash = contentClaims[claim] { claims.add(named: claim.rawValue, hash) }
        }
        return try key.token(type: Self.type, claims: claims.finish())
    }
}

/// A claim that a provider demands in DPoP proofs beyond RFC 9449: those of the CAMARA Security and Interoperability
/// Profile r4.2, section "Additional Recommendations for DPoP Implementations". The raw value is its name.
public enum DPoPClaim: String, Sendable, Hashable, CaseIterable {
    case queryHash = "camara:qh"
    case bodyHash = "camara:bh"
}

extension OutboundRequest {
    /// The claims that bind a proof to the content of its request, which `htm` and `htu` do not cover. Each is the
    /// SHA-256 in base64url: of the query as it is sent, if there is one, and of the body, without one of no bytes.
    func contentClaims(_ demanded: Set<DPoPClaim>) -> [DPoPClaim: String] {
        var claims: [DPoPClaim: String] = [:]
        func hash(_ bytes: [UInt8]) -> String { Base64URL.encode(Array(SHA256.hash(data: bytes))) }
        if demanded.contains(.queryHash) { claims[.queryHash] = url.query.map { hash(Array($0.utf8)) } }
        if demanded.contains(.bodyHash) { claims[.bodyHash] = hash(body) }
        return claims
    }
}
