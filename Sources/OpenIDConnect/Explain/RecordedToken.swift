package import Primitives

/// What a capsule has of a token: the header and the claims, and the results of the checks that need more.
package struct RecordedToken: Sendable {
    let header: JSONObject?
    let claims: JSONObject?
    /// By the names of the checks.
    let verdicts: [String: TokenVerdict]

    package init(header: JSONObject?, claims: JSONObject?, verdicts: [String: TokenVerdict]) {
        self.header = header
        self.claims = claims
        self.verdicts = verdicts
    }

    /// Applies the rules of logout tokens to it.
    /// - Parameters:
    ///   - clients: Our clients, each with what its tokens may be signed with.
    ///   - allows: Whether the provider signs with an algorithm.
    package func explainedAsLogoutToken(
        of issuer: String, for clients: [ClientID: Set<SigningAlgorithm>], _ rules: IDTokenRules, at moment: Timestamp,
        allows: (SigningAlgorithm) -> Bool
    ) -> LogoutTokenExplanation {
        UnverifiedLogoutToken.explain(
            TokenExamination(self, .logoutToken, named: LogoutTokenCheck.init),
            .init(issuer: issuer, clients: clients, rules: rules, now: moment), allows: allows)
    }

    /// Applies the rules of signed authorization responses to it.
    /// - Parameter clients: Our clients, each with what its responses are signed with.
    package func explainedAsAuthorizationResponse(
        of issuer: String, for clients: [ClientID: SigningAlgorithm], _ rules: IDTokenRules, at moment: Timestamp
    ) -> AuthorizationResponseExplanation {
        UnverifiedAuthorizationResponse.explain(
            TokenExamination(self, .authorizationResponse, named: AuthorizationResponseCheck.init),
            .init(issuer: issuer, clients: clients, rules: rules, now: moment))
    }
}
