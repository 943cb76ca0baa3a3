package import Primitives

/// Checks an ID token against the sign-in that requested it (OpenID Connect Core section 3.1.3.7, RFC 8725).
///
/// Pure: keys and time are parameters, so that every rule is a row of a table in the tests. The rules are lists:
/// ``HeaderRule/all``, ``SignatureValidationContext/signatureRules``, ``ClaimValidationContext/claimRules``; for the
/// token of a refresh also ``ClaimValidationContext/refreshRules``.
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
    /// - Parameter keys: The provider's, or why there are none.
    package func explain(
        _ text: Secret, keys: Result<JSONWebKeySet, OIDCError>, allows: (SigningAlgorithm) -> Bool,
        expecting expectation: IDTokenExpectation, now: Timestamp
    ) -> IDTokenExplanation {
        explain(TokenExamination(text, .idToken(rules.types), rules, keys: keys), allows, expectation, now)
    }

    /// Applies every rule to a token of which there is a record.
    package func explain(
        _ token: RecordedToken, allows: (SigningAlgorithm) -> Bool, expecting expectation: IDTokenExpectation,
        now: Timestamp
    ) -> IDTokenExplanation {
        explain(TokenExamination(token, .idToken(rules.types)), allows, expectation, now)
    }

    private func explain(
        _ token: TokenExamination<IDTokenCheck>, _ allows: (SigningAlgorithm) -> Bool,
        _ expectation: IDTokenExpectation, _ now: Timestamp
    ) -> IDTokenExplanation {
        let context = token.claims.map { self.context($0, token.idTokenType, token.algorithm, expectation, now) }
        return token.explanation(
            [token.formatStep] + token.headerSteps(allows) + token.signatureSteps + [token.claimsStep]
                + token.claimSteps(ClaimValidationContext.claimRules, context))
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
