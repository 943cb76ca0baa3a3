package import Primitives

/// Checks an ID token against the sign-in that asked for it (OpenID Connect Core section 3.1.3.7, RFC 8725).
///
/// Pure: keys and time are given, so that every rule is a row of a table in the tests. The rules are three lists:
/// ``HeaderRule/all``, ``SignatureRule/all`` and ``ClaimRule/all``. A sign-in ends at the first that is not met; an
/// explanation goes through all of them.
package struct IDTokenValidator: Sendable {
    let rules: IDTokenRules
    let issuer: String

    package init(rules: IDTokenRules = IDTokenRules(), issuer: String) {
        self.rules = rules
        self.issuer = issuer
    }

    package func validate(
        _ token: SignedToken, keys: JSONWebKeySet, expecting expectation: IDTokenExpectation, now: Timestamp
    ) throws(OIDCError) -> VerifiedIDToken {
        let signature = SignatureValidationContext(token, keys: keys)
        for rule in SignatureRule.all where !rule.isMet(signature) { throw .failed(rule.check) }
        guard let claims = Self.claims(token.payload) else { throw .failed(.claims) }
        let evidence = evidence(claims, expectation, now)
        for rule in ClaimRule.all where !rule.isMet(evidence) { throw .failed(rule.check) }
        return try VerifiedIDToken(evidence)
    }

    static func claims(_ payload: [UInt8]) -> JSONObject? { (try? JSONValue(parsing: payload))?.object }

    func evidence(_ claims: JSONObject, _ expectation: IDTokenExpectation, _ now: Timestamp) -> ClaimValidationContext {
        ClaimValidationContext(claims, rules: rules, issuer: issuer, expectation: expectation, now: now)
    }
}

extension VerifiedIDToken {
    /// What claims say that have met every ``ClaimRule``: which is why none of the three required ones is missing.
    fileprivate init(_ evidence: ClaimValidationContext) throws(OIDCError) {
        let claims = evidence.claims
        guard let subject = claims["sub"]?.string else { throw .failed(.subject) }
        guard let expiresAt = evidence.expiresAt else { throw .failed(.expiry) }
        guard let issuedAt = evidence.issuedAt else { throw .failed(.issuedAt) }
        self.init(
            issuer: evidence.issuer, subject: subject, clientID: evidence.expectation.clientID, issuedAt: issuedAt,
            expiresAt: expiresAt, authTime: evidence.authTime, acr: claims["acr"]?.string,
            context: claims["context"]?.string, portTokens: Self.portTokens(claims),
            sessionID: claims["sid"].flatMap(LogoutValidationContext.visibleText), claims: claims)
    }

    /// At most eight, of an array or a single text; what is neither is passed over.
    private static func portTokens(_ claims: JSONObject) -> [Secret] {
        switch claims["aka"] {
        case .string(let single): [Secret(single)]
        case .array(let several): several.prefix(8).compactMap { $0.string.map(Secret.init) }
        default: []
        }
    }
}
