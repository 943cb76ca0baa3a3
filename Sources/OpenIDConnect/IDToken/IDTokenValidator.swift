package import Primitives

/// Checks an ID token against the sign-in that requested it (OpenID Connect Core section 3.1.3.7, RFC 8725).
///
/// Pure: keys and time are parameters, so that every rule is a row of a table in the tests. The rules are lists:
/// ``HeaderValidationContext/headerRules``, ``SignatureValidationContext/signatureRules``,
/// ``ClaimValidationContext/claimRules``; for the token of a refresh also ``ClaimValidationContext/refreshRules``.
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
        for rule in SignatureValidationContext.signatureRules where !rule.isMet(signature) { throw .failed(rule.check) }
        guard let claims = Self.claims(token.payload) else { throw .failed(.claims) }
        let context = context(claims, token.type, token.algorithm, expectation, now)
        for rule in ClaimValidationContext.claimRules where !rule.isMet(context) { throw .failed(rule.check) }
        if expectation.original != nil {
            for rule in ClaimValidationContext.refreshRules where !rule.isMet(context) { throw .failed(rule.check) }
        }
        return try VerifiedIDToken(context)
    }

    /// Applies every rule, also after one that is not met.
    /// - Parameter algorithms: What the token may be signed with.
    package func explain(
        _ token: TokenExamination, signedWith algorithms: Set<SigningAlgorithm>,
        expecting expectation: IDTokenExpectation, now: Timestamp
    ) -> IDTokenExplanation {
        let context = token.claims.map { self.context($0, token.idTokenType, token.algorithm, expectation, now) }
        return token.explanation([
            token.formatSteps(), token.headerSteps(.idToken(rules.types), algorithms), token.signatureSteps(),
            token.claimsSteps(), token.claimSteps(ClaimValidationContext.claimRules, context),
        ])
    }

    package static func claims(_ payload: [UInt8]) -> JSONObject? { (try? JSONValue(parsing: payload))?.object }

    private func context(
        _ claims: JSONObject, _ type: IDTokenType?, _ algorithm: SigningAlgorithm?,
        _ expectation: IDTokenExpectation, _ now: Timestamp
    ) -> ClaimValidationContext {
        ClaimValidationContext(
            claims: claims, type: type, algorithm: algorithm, rules: rules, issuer: issuer, expectation: expectation,
            now: now)
    }
}

extension VerifiedIDToken {
    /// The claims of a context that meets every rule, so that no required claim is missing.
    fileprivate init(_ context: ClaimValidationContext) throws(OIDCError) {
        let claims = context.claims
        guard let subject = claims["sub"]?.string else { throw .failed(.subject) }
        guard let expiresAt = context.expiresAt else { throw .failed(.expiry) }
        guard let issuedAt = context.issuedAt else { throw .failed(.issuedAt) }
        self.init(
            issuer: context.issuer, subject: subject, clientID: context.expectation.clientID, issuedAt: issuedAt,
            expiresAt: expiresAt, authTime: context.authTime, acr: claims["acr"]?.string,
            context: claims["context"]?.string, portTokens: Self.portTokens(claims),
            sessionID: claims["sid"]?.sessionIDText, claims: claims)
    }

    /// At most eight, from an array or a single text. Other values are ignored.
    private static func portTokens(_ claims: JSONObject) -> [Secret] {
        switch claims["aka"] {
        case .string(let single): [Secret(single)]
        case .array(let several): several.prefix(8).compactMap { $0.string.map(Secret.init) }
        default: []
        }
    }
}
