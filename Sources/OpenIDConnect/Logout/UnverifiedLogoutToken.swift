import Primitives

/// A logout token whose signature is not checked yet. Reading it needs neither network nor keys, so that junk is cheap.
struct UnverifiedLogoutToken: Sendable {
    let token: SignedToken
    let logout: LogoutToken
    /// The client that the token is for.
    let client: ClientID

    struct Requirements: Sendable {
        let issuer: String
        /// Our clients, each with what its tokens may be signed with.
        let clients: [ClientID: Set<SigningAlgorithm>]
        let rules: IDTokenRules
        let now: Timestamp

        func anyClientAllows(_ algorithm: SigningAlgorithm) -> Bool {
            clients.values.contains { $0.contains(algorithm) }
        }
    }

    init(_ text: Secret, _ requirements: Requirements) throws(LogoutTokenRefusal) {
        let rules = requirements.rules
        do throws(OIDCError) {
            token = try SignedToken(
                text, maximumBytes: rules.maximumBytes, type: .logoutToken, allows: requirements.anyClientAllows)
        } catch {
            throw .failed(error.check.map(LogoutTokenCheck.init) ?? .format)
        }
        guard let claims = IDTokenValidator.claims(token.payload) else { throw .failed(.claims) }
        let context = LogoutValidationContext(claims: claims, requirements: requirements)
        guard context.audienceAllows(token.algorithm) else { throw .failed(.algorithm) }
        for rule in LogoutValidationContext.logoutRules where !rule.isMet(context) { throw .failed(rule.check) }
        // The rules make sure that none is missing.
        guard let issuedAt = context.issuedAt else { throw .failed(.issuedAt) }
        guard let id = context.visibleText("jti") else { throw .failed(.tokenID) }
        guard let client = context.client else { throw .failed(.audience) }
        self.client = client
        // An expiry, which older providers leave out, can only make it earlier.
        logout = LogoutToken(
            issuer: requirements.issuer, subject: context.visibleText("sub"), sessionID: claims["sid"]?.sessionIDText,
            id: id, refusedFrom: issuedAt.advanced(bySeconds: rules.maximumAgeSeconds + rules.clockSkewSeconds + 1))
    }

    func checkSignature(_ keys: JSONWebKeySet) throws(LogoutTokenRefusal) {
        let context = SignatureValidationContext(token, keys: keys)
        for rule in SignatureValidationContext.signatureRules where !rule.isMet(context) {
            throw .failed(LogoutTokenCheck(rule.check))
        }
    }

    /// Applies every rule, also after one that is not met.
    static func explain(
        _ token: TokenExamination<LogoutTokenCheck>, _ requirements: Requirements, allows: (SigningAlgorithm) -> Bool
    ) -> LogoutTokenExplanation {
        let context = token.claims.map { LogoutValidationContext(claims: $0, requirements: requirements) }
        return token.explanation(
            [token.formatStep]
                + token.headerSteps { algorithm in
                    allows(algorithm)
                        && (context?.audienceAllows(algorithm) ?? requirements.anyClientAllows(algorithm))
                } + [token.claimsStep]
                + token.claimSteps(LogoutValidationContext.logoutRules, context) + token.signatureSteps)
    }
}
