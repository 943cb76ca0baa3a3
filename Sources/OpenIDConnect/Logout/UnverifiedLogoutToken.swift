import Primitives

/// A logout token whose signature nobody has looked at yet. Made without network and keys, so that junk costs nothing.
struct UnverifiedLogoutToken: Sendable {
    let token: SignedToken
    let logout: LogoutToken

    struct Requirements: Sendable {
        let issuer: String
        let clients: Set<ClientID>
        let rules: IDTokenRules
        let now: Timestamp
    }

    init(_ text: Secret, _ requirements: Requirements) throws(LogoutTokenRefusal) {
        let rules = requirements.rules
        do throws(OIDCError) {
            token = try SignedToken(
                text, maximumBytes: rules.maximumBytes, type: .logoutToken, allows: rules.algorithms.contains)
        } catch {
            throw .failed(error.check.map(LogoutTokenCheck.init) ?? .format)
        }
        guard let claims = IDTokenValidator.claims(token.payload) else { throw .failed(.claims) }
        let evidence = LogoutValidationContext(claims, requirements)
        for rule in LogoutRule.all where !rule.isMet(evidence) { throw .failed(rule.check) }
        // The rules have seen to it that neither is missing.
        guard let issuedAt = evidence.issuedAt else { throw .failed(.issuedAt) }
        guard let id = evidence.visibleText("jti") else { throw .failed(.tokenID) }
        // An expiry, which older providers leave out, can only make it earlier.
        logout = LogoutToken(
            issuer: requirements.issuer, subject: evidence.visibleText("sub"), sessionID: evidence.visibleText("sid"),
            id: id, refusedFrom: issuedAt.advanced(bySeconds: rules.maximumAgeSeconds + rules.clockSkewSeconds + 1))
    }

    /// Goes through every rule, also after one that is not met.
    /// - Parameter keys: The provider's, or why there are none.
    static func explain(
        _ text: Secret, _ requirements: Requirements, keys: Result<JSONWebKeySet, OIDCError>,
        allows: (SigningAlgorithm) -> Bool
    ) -> LogoutTokenExplanation {
        let token = TokenExamination(text, .logoutToken, requirements.rules, named: LogoutTokenCheck.init)
        let evidence = token.claims.map { LogoutValidationContext($0, requirements) }
        let claimSteps = LogoutRule.all.map { (rule: LogoutRule) -> LogoutTokenExplanation.Step in
            guard let evidence else {
                return LogoutTokenExplanation.Step(
                    check: rule.check, verdict: .notPossible, found: "the claims cannot be read")
            }
            return .init(check: rule.check, verdict: TokenVerdict(rule.isMet(evidence)), found: rule.found(evidence))
        }
        return token.explanation(
            [token.formatStep] + token.headerSteps(allows) + [token.claimsStep] + claimSteps
                + token.signatureSteps(keys))
    }
}
