import Crypto
package import Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An ID token (OpenID Connect Core section 2) that is not signed yet, so that faults can still spoil it.
package struct IDTokenDraft: Sendable {
    package enum Signature: Sendable {
        case genuine
        /// Genuine, then every byte changed.
        case changed
        case empty
        /// HMAC with SHA-256, by these bytes.
        case hmac(key: [UInt8])
        /// Whatever this makes of what is signed.
        case made(@Sendable ([UInt8]) -> [UInt8])
    }

    package var header: JSONMembers
    package var claims: JSONMembers
    var key: SigningKey
    /// The present, as the carrier sees it.
    package let now: Timestamp
    package var signature = Signature.genuine

    /// A token without a flaw.
    init(grant: Grant, issuer: String, key: SigningKey, now: Timestamp) {
        let terms = grant.terms
        header = ["typ": "JWT", "alg": .text(key.algorithm), "kid": .text(key.keyID)]
        claims = [
            "iss": .text(issuer),
            "sub": .text(
                Subject.identifier(mccmnc: grant.mccmnc, clientID: terms.clientID, userID: grant.user.id)),
            "aud": .text(terms.clientID),
            "exp": .number(now.advanced(bySeconds: Grant.tokenLifetime).secondsSinceEpoch),
            "iat": .number(now.secondsSinceEpoch),
            "auth_time": .number(grant.approvedAt.secondsSinceEpoch),
            "acr": .text(terms.acr),
        ]
        claims["nonce"] = terms.nonce.map(JSON.text)
        claims["context"] = terms.context.map(JSON.text)
        self.key = key
        self.now = now
    }

    /// A token of another kind.
    init(header: JSONMembers, claims: JSONMembers, key: SigningKey, now: Timestamp) {
        self.header = header
        self.claims = claims
        self.key = key
        self.now = now
    }

    /// The compact form (RFC 7515 section 3.1).
    func serialized() throws -> String {
        let input = Base64URL.encode(header.serialized) + "." + Base64URL.encode(claims.serialized)
        return input + "." + Base64URL.encode(try signatureBytes(over: Array(input.utf8)))
    }

    private func signatureBytes(over input: [UInt8]) throws -> [UInt8] {
        var algorithm = key.algorithm
        if case .text(let named)? = header["alg"] { algorithm = named }
        switch signature {
        case .made(let make): return make(input)
        case .genuine: return try key.signature(over: input, algorithm: algorithm)
        case .changed: return try key.signature(over: input, algorithm: algorithm).map { $0 ^ 0x5A }
        case .empty: return []
        case .hmac(let key): return Array(HMAC<SHA256>.authenticationCode(for: input, using: SymmetricKey(data: key)))
        }
    }

    /// `at_hash` (OpenID Connect Core section 3.1.3.6) for the algorithms that hash with SHA-256.
    static func accessTokenHash(_ accessToken: String) -> String {
        Base64URL.encode(Digest.sha256(Array(accessToken.utf8)).prefix(16))
    }
}

extension IDTokenDraft {
    /// The public half of the key that signs, as SubjectPublicKeyInfo in PEM.
    package var publicPEM: String { key.publicPEM }

    /// The public half of the key that signs, as it stands in the key set.
    package var publicJWK: JSONMembers { key.publicJWK(keyID: key.keyID) }

    /// A NumericDate so many seconds from ``now``.
    package func moment(plus seconds: Int64) -> JSON { .number(now.advanced(bySeconds: seconds).secondsSinceEpoch) }
}
