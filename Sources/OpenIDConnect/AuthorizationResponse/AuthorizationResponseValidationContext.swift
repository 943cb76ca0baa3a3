import Primitives

/// The claims of a signed authorization response and what they are checked against.
struct AuthorizationResponseValidationContext: IssuedClaims {
    /// The longest code, in bytes.
    static let maximumCodeBytes = 4096
    /// The longest `state` and `error`, in bytes.
    static let maximumTextBytes = 256

    let claims: JSONObject
    let requirements: UnverifiedAuthorizationResponse.Requirements

    var rules: IDTokenRules { requirements.rules }
    var issuer: String { requirements.issuer }
    var now: Timestamp { requirements.now }

    /// The rules (JARM sections 2.1 and 2.4), in the order in which a response is refused by them.
    static let responseRules: [(check: AuthorizationResponseCheck, isMet: @Sendable (Self) -> Bool)] = [
        (.issuer, { $0.hasIssuer }), (.audience, { $0.client != nil }), (.expiry, { $0.expiresSoon }),
        (.notBefore, { $0.isValidAlready }), (.kind, { $0.isNoOtherToken }), (.state, { $0.state != nil }),
        (.outcome, { $0.outcome != nil }),
    ]

    /// The client of the only audience.
    var client: ClientID? {
        guard let audience = claims.onlyAudience else { return nil }
        return requirements.clients.keys.first { audience.hasSameBytes(as: $0.text) }
    }

    /// A response is used at once, so it need not be valid for longer than an ID token may be old. JARM section 2.1
    /// recommends ten minutes at most.
    private var expiresSoon: Bool {
        guard claims["exp"] != nil, isNotExpiredIfStated, let expiry = ClaimValidationContext.numericDate(claims["exp"])
        else { return false }
        return expiry <= now.advanced(bySeconds: rules.maximumAgeSeconds + rules.clockSkewSeconds)
    }

    /// ID tokens, logout tokens and userinfo responses have the same issuer, audience and keys (RFC 8725 section 3.12).
    private var isNoOtherToken: Bool { ["sub", "nonce", "events"].allSatisfy { claims[$0] == nil } }

    var state: Secret? {
        claims["state"]?.string.flatMap { $0.isVisibleASCII(upTo: Self.maximumTextBytes) ? Secret($0) : nil }
    }

    /// An error counts before a code.
    var outcome: VerifiedAuthorizationResponse.Outcome? {
        if let error = claims["error"] {
            return error.string.flatMap { Self.isText($0, upTo: Self.maximumTextBytes) ? .error($0) : nil }
        }
        return claims["code"]?.string.flatMap {
            Self.isText($0, upTo: Self.maximumCodeBytes) ? .code(Secret($0)) : nil
        }
    }

    /// RFC 6749 appendices A.7 and A.11 allow spaces.
    private static func isText(_ text: String, upTo longest: Int) -> Bool {
        (1...longest).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
