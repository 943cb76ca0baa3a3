package import Primitives

extension IDTokenValidator {
    /// Goes through every rule, also after one that is not met.
    ///
    /// - Parameter keys: The provider's, or why there are none.
    package func explain(
        _ text: Secret, keys: Result<JSONWebKeySet, OIDCError>, allows: (SigningAlgorithm) -> Bool,
        expecting expectation: IDTokenExpectation, now: Timestamp
    ) -> IDTokenExplanation {
        let token = TokenExamination(text, .idToken, rules) { $0 }
        let evidence = token.claims.map { self.evidence($0, expectation, now) }
        let claimSteps = ClaimRule.all.map { (rule: ClaimRule) -> IDTokenExplanation.Step in
            guard let evidence else {
                return IDTokenExplanation.Step(
                    check: rule.check, verdict: .notPossible, found: "the claims cannot be read")
            }
            return .init(check: rule.check, verdict: TokenVerdict(rule.isMet(evidence)), found: rule.found(evidence))
        }
        return token.explanation(
            [token.formatStep] + token.headerSteps(allows) + token.signatureSteps(keys) + [token.claimsStep]
                + claimSteps)
    }
}
