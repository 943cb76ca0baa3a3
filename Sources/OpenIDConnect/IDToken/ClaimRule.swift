import Primitives

/// One rule for the claims of an ID token. Validation and explanation walk the same list.
struct ClaimRule: ValidationRule {
    let check: IDTokenCheck
    let isMet: @Sendable (ClaimValidationContext) -> Bool
    /// What the token has, for an explanation: nothing personal, and no nonce.
    let found: @Sendable (ClaimValidationContext) -> String

    private init(
        _ check: IDTokenCheck, _ isMet: @escaping @Sendable (ClaimValidationContext) -> Bool,
        found: @escaping @Sendable (ClaimValidationContext) -> String
    ) {
        self.check = check
        self.isMet = isMet
        self.found = found
    }

    /// All rules, in the order in which a sign-in is refused by them.
    static let all: [ClaimRule] = [
        ClaimRule(.issuer, { $0.hasIssuer }, found: { $0.foundIssuer }),
        ClaimRule(.subject, { $0.hasSubject }, found: { "sub is \(DisplayText.shape($0.claims["sub"]))" }),
        ClaimRule(.audience, { $0.hasAudience }, found: { $0.foundClient("aud") }),
        ClaimRule(
            .authorizedParty, { $0.claims["azp"] == nil || $0.isClient($0.claims["azp"]?.string) },
            found: { $0.claims["azp"] == nil ? "azp is absent" : $0.foundClient("azp") }),
        ClaimRule(.expiry, { $0.isNotExpired }, found: { $0.foundExpiry }),
        ClaimRule(.issuedAt, { $0.wasIssuedJustNow }, found: { $0.foundIssue }),
        ClaimRule(.notBefore, { $0.isValidAlready }, found: { $0.foundTime("nbf") }),
        ClaimRule(.nonce, { $0.hasNonce }, found: { $0.foundNonce }),
        ClaimRule(
            .requestID, { $0.hasRequestID }, found: { "auth_req_id is \(DisplayText.shape($0.requestID))" }),
        ClaimRule(.acr, { $0.hasACR }, found: { $0.foundACR }),
        ClaimRule(.authTime, { $0.hasAuthTime }, found: { $0.foundAuthTime }),
        ClaimRule(.accessTokenHash, { $0.hasAccessTokenHash }, found: { $0.foundAccessTokenHash }),
        ClaimRule(.context, { $0.hasContext }, found: { $0.foundContext }),
    ]
}
