import Primitives

/// A signed authorization response whose signature is not checked yet. Reading it needs neither network nor keys, so
/// that junk is cheap.
struct UnverifiedAuthorizationResponse: Sendable {
    let token: SignedToken
    /// To be believed when ``checkSignature(_:)`` has passed.
    let response: VerifiedAuthorizationResponse

    struct Requirements: Sendable {
        let issuer: String
        /// Our clients, each with what its responses are signed with.
        let clients: [ClientID: SigningAlgorithm]
        let rules: IDTokenRules
        let now: Timestamp
    }

    init(_ text: Secret, _ requirements: Requirements) throws(AuthorizationResponseRefusal) {
        do throws(OIDCError) {
            token = try SignedToken(
                text, maximumBytes: requirements.rules.maximumBytes, type: .authorizationResponse,
                allows: requirements.clients.values.contains)
        } catch {
            throw .failed(error.check.map(AuthorizationResponseCheck.init) ?? .format)
        }
        guard let claims = IDTokenValidator.claims(token.payload) else { throw .failed(.claims) }
        let context = AuthorizationResponseValidationContext(claims: claims, requirements: requirements)
        guard context.audienceAllows(token.algorithm) else { throw .failed(.algorithm) }
        for rule in AuthorizationResponseValidationContext.responseRules where !rule.isMet(context) {
            throw .failed(rule.check)
        }
        // The rules make sure that none is missing.
        guard let client = context.client else { throw .failed(.audience) }
        guard let state = context.state else { throw .failed(.state) }
        guard let outcome = context.outcome else { throw .failed(.outcome) }
        response = VerifiedAuthorizationResponse(
            issuer: requirements.issuer, clientID: client, state: state, outcome: outcome)
    }

    func checkSignature(_ keys: JSONWebKeySet) throws(AuthorizationResponseRefusal) {
        let context = SignatureValidationContext(token, keys: keys)
        for rule in SignatureValidationContext.signatureRules where !rule.isMet(context) {
            throw .failed(AuthorizationResponseCheck(rule.check))
        }
    }

    /// Applies every rule, also after one that is not met.
    static func explain(
        _ token: TokenExamination<AuthorizationResponseCheck>, _ requirements: Requirements
    ) -> AuthorizationResponseExplanation {
        let context = token.claims.map {
            AuthorizationResponseValidationContext(claims: $0, requirements: requirements)
        }
        return token.explanation(
            [token.formatStep]
                + token.headerSteps {
                    context?.audienceAllows($0) ?? requirements.clients.values.contains($0)
                } + [token.claimsStep]
                + token.claimSteps(AuthorizationResponseValidationContext.responseRules, context)
                + token.signatureSteps)
    }
}
