/// The checks a logout token must pass (Back-Channel Logout section 2.6), in the order in which they are made: those that
/// need no keys come first. The raw values are stable names for error answers and logs.
public enum LogoutTokenCheck: String, TokenCheck, CaseIterable {
    case format
    case criticalHeader = "critical_header"
    case type
    case algorithm
    case claims
    case issuer
    case audience
    case issuedAt = "issued_at"
    case expiry
    case notBefore = "not_before"
    case tokenID = "jti"
    case event
    case nonce
    case subject
    case key
    case signature

    /// The check of an ID token that is one of logout tokens, too: of form, header and signature.
    init(_ check: IDTokenCheck) { self = LogoutTokenCheck(rawValue: check.rawValue) ?? .format }

    /// What the check demands, as a sentence for an error answer.
    public var demand: String {
        switch self {
        case .format: "The logout token must be a signed JWT in compact form, of at most the allowed size."
        case .criticalHeader: "The logout token's header must not have extensions (crit, b64)."
        case .type: "The logout token's header, if it names a type, must name logout+jwt."
        case .algorithm: "The logout token must be signed with an allowed algorithm."
        case .claims: "The logout token's claims must be a strict JSON object."
        case .issuer: "The logout token must be issued by this provider."
        case .audience: "The logout token must be meant for one of this provider's clients, and for no other."
        case .issuedAt: "The logout token must have been issued just now."
        case .expiry: "The logout token's expiry time must not be over."
        case .notBefore: "The logout token must be valid already."
        case .tokenID: "The logout token must have a jti of 1 to 255 visible ASCII characters."
        case .event: "The logout token's events must have the back-channel logout event, an object."
        case .nonce: "The logout token must not have a nonce."
        case .subject: "The logout token must have a sub or a sid, of 1 to 255 visible ASCII characters."
        case .key: "The logout token must be signed with one of the provider's current signing keys."
        case .signature: "The logout token's signature must hold."
        }
    }
}

/// Why a logout token ends nothing.
public enum LogoutTokenRefusal: Error, Sendable {
    case failed(LogoutTokenCheck)
    /// It cannot be told whether it is good: metadata or keys are not to be had.
    case unknown(OIDCError)
}
