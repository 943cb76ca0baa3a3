import Crypto
package import Primitives

/// An ID token (OpenID Connect Core section 2), port token, logout token, authorization response, userinfo response or
/// security event token that is not signed yet, so that faults can still change it.
package struct TokenDraft: Sendable {
    /// What the draft becomes. Some defects depend on it.
    enum Kind: Sendable { case idToken, portToken, logoutToken, authorizationResponse, userInfo, eventToken }

    package enum Signature: Sendable {
        case genuine
        /// Genuine, then every byte changed.
        case changed
        case empty
        /// HMAC with SHA-256 by this key.
        case hmac(key: [UInt8])
        /// The result of this function over the signing input.
        case made(@Sendable ([UInt8]) -> [UInt8])
    }

    let kind: Kind
    package var header: JSONMembers
    package var claims: JSONMembers
    var key: SigningKey
    /// The carrier's present time.
    package let now: Timestamp
    package var signature = Signature.genuine

    /// - Parameter claims: The claims of a token without defects.
    init(_ kind: Kind, type: String, claims: JSONMembers, key: SigningKey, now: Timestamp) {
        self.kind = kind
        header = ["typ": .string(type), "alg": .string(key.algorithm), "kid": .string(key.keyID)]
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
        let algorithm = header["alg"]?.string ?? key.algorithm
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

extension TokenDraft {
    /// The public half of the signing key, as SubjectPublicKeyInfo in PEM.
    package var publicPEM: String { key.publicPEM }

    /// The public half of the signing key, as the key set publishes it.
    package var publicJWK: JSONMembers { key.publicJWK(keyID: key.keyID) }

    /// The NumericDate that is `seconds` after ``now``.
    package func time(plus seconds: Int64) -> JSONValue { .time(now.advanced(bySeconds: seconds)) }
}
