package import Primitives

extension IDTokenValidator {
    /// Applies every rule, also after one that is not met.
    ///
    /// - Parameter keys: The provider's, or why there are none.
    package func explain(
        _ text: Secret, keys: Result<JSONWebKeySet, OIDCError>, allows: (SigningAlgorithm) -> Bool,
        expecting expectation: IDTokenExpectation, now: Timestamp
    ) -> IDTokenExplanation {
        let token = TokenExamination(text, .idToken, rules) { $0 }
        let context = token.claims.map { self.context($0, expectation, now) }
        return token.explanation(
            [token.formatStep] + token.headerSteps(allows) + token.signatureSteps(keys) + [token.claimsStep]
                + token.claimSteps(ClaimRule.all, context))
    }
}
