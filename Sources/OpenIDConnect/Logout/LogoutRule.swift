import Primitives

/// One rule for the claims of a logout token (OpenID Connect Back-Channel Logout sections 2.4 and 2.6). Validation and
/// explanation walk the same list.
struct LogoutRule: ValidationRule {
    let check: LogoutTokenCheck
    let isMet: @Sendable (LogoutValidationContext) -> Bool
    /// What the token has, for an explanation: nothing personal.
    let found: @Sendable (LogoutValidationContext) -> String

    private init(
        _ check: LogoutTokenCheck, _ isMet: @escaping @Sendable (LogoutValidationContext) -> Bool,
        found: @escaping @Sendable (LogoutValidationContext) -> String
    ) {
        self.check = check
        self.isMet = isMet
        self.found = found
    }

    /// All rules, in the order in which a logout token is refused by them.
    static let all: [LogoutRule] = [
        LogoutRule(.issuer, { $0.hasIssuer }, found: { $0.foundIssuer }),
        LogoutRule(.audience, { $0.hasAudience }, found: { $0.foundAudience }),
        LogoutRule(.issuedAt, { $0.wasIssuedJustNow }, found: { $0.foundIssue }),
        // Older providers leave the expiry out.
        LogoutRule(.expiry, { $0.isNotExpiredIfStated }, found: { $0.foundTime("exp") }),
        LogoutRule(.notBefore, { $0.isValidAlready }, found: { $0.foundTime("nbf") }),
        LogoutRule(
            .tokenID, { $0.visibleText("jti") != nil }, found: { "jti is \(DisplayText.shape($0.claims["jti"]))" }),
        LogoutRule(.event, { $0.hasEvent }, found: { $0.foundEvent }),
        LogoutRule(
            .nonce, { $0.claims["nonce"] == nil }, found: { "nonce is \(DisplayText.shape($0.claims["nonce"]))" }),
        LogoutRule(
            .subject, { $0.hasSubject },
            found: { "sub is \(DisplayText.shape($0.claims["sub"])); sid is \(DisplayText.shape($0.claims["sid"]))" }),
    ]
}
