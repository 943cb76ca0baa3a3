import Primitives

/// The claims of a signed authorization response and what they are checked against.
struct AuthorizationResponseValidationContext: MessageValidationContext {
    static let type = TokenType.standard
    /// The longest code, in bytes.
    static let maximumCodeBytes = 16 * 1024
    /// The longest `state` and `error`, in bytes.
    static let maximumTextBytes = 256

    let claims: JSONObject
    let requirements: MessageRequirements

    /// The rules (JARM sections 2.1 and 2.4), in the order in which a response is refused by them.
    static let claimRules: [TokenRule<AuthorizationResponseCheck, Self>] = [
        .init(.issuer, { $0.hasIssuer }, found: { $0.foundIssuer }),
        .init(.audience, { $0.client != nil }, found: { "aud is \(DisplayText.value($0.claims["aud"]))" }),
        .init(.expiry, { $0.expiresSoon }, found: { $0.foundTime("exp") }),
        .init(.notBefore, { $0.isValidAlready }, found: { $0.foundTime("nbf") }),
        .init(.kind, { $0.claimsOfOtherTokens.isEmpty }, found: { $0.foundKind }),
        .init(.state, { $0.state != nil }, found: { "state is \(DisplayText.shape($0.claims["state"]))" }),
        .init(.outcome, { $0.outcome != nil }, found: { $0.foundOutcome }),
    ]

    /// A response is used at once, so it need not be valid for longer than an ID token may be old. JARM section 2.1
    /// recommends ten minutes at most.
    private var expiresSoon: Bool {
        guard isNotExpiredIfStated, let expiry = claims["exp"]?.numericDate else { return false }
        return expiry <= now.advanced(bySeconds: rules.maximumAgeSeconds + rules.clockSkewSeconds)
    }

    /// ID tokens, logout tokens and userinfo responses have the same issuer, audience and keys (RFC 8725 section 3.12).
    private var claimsOfOtherTokens: [String] { ["sub", "nonce", "events"].filter { claims[$0] != nil } }

    /// What the provider answered. The rules make sure that nothing is missing.
    func response() throws(AuthorizationResponseError) -> VerifiedAuthorizationResponse {
        guard let client else { throw .failed(.audience) }
        guard let state else { throw .failed(.state) }
        guard let outcome else { throw .failed(.outcome) }
        return VerifiedAuthorizationResponse(issuer: issuer, clientID: client, state: state, outcome: outcome)
    }

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
        (1...longest).contains(text.utf8.count) && text.utf8.allSatisfy(\.isPrintableASCII)
    }

    // What an explanation shows: of state and code, the length alone.

    private var foundKind: String {
        let others = claimsOfOtherTokens.joined(separator: ", ")
        return "of sub, nonce and events the response has " + (others.isEmpty ? "none" : others)
    }

    private var foundOutcome: String {
        "code is \(DisplayText.shape(claims["code"])); error is \(DisplayText.shape(claims["error"]))"
    }
}
