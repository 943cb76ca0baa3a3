/// A check of a token. The raw value is its stable name.
public protocol TokenCheck: RawRepresentable<String>, Sendable, Hashable {
    /// What the check demands, or what is wrong if it fails: one sentence for an error response.
    var demand: String { get }
}

/// One rule for a token. Validation ends at the first rule of a list that is not met; an explanation applies them all.
struct TokenRule<Check: TokenCheck, Context>: Sendable {
    let check: Check
    let isMet: @Sendable (Context) -> Bool
    /// Whether there is an expected value to compare with; without one the rule is met.
    let hasExpectedValue: @Sendable (Context) -> Bool
    /// What the token has, for an explanation: nothing personal, and no nonce.
    let found: @Sendable (Context) -> String

    init(
        _ check: Check, _ isMet: @escaping @Sendable (Context) -> Bool,
        hasExpectedValue: @escaping @Sendable (Context) -> Bool = { _ in true },
        found: @escaping @Sendable (Context) -> String
    ) {
        self.check = check
        self.isMet = isMet
        self.hasExpectedValue = hasExpectedValue
        self.found = found
    }
}

/// The checks an ID token must pass: those of OpenID Connect Core section 3.1.3.7 and RFC 8725, in the order in which
/// they are made. ``demand`` explains each. The raw values are stable names for error responses, logs and metrics.
public enum IDTokenCheck: String, TokenCheck, CaseIterable {
    case encryption
    /// Strict compact form (RFC 7515 section 7.1), of at most the allowed size.
    case format
    case criticalHeader = "critical_header"
    /// `typ` is one of ``IDTokenRules/types``.
    case type
    case algorithm
    case key
    case signature
    case claims
    case issuer
    case subject
    case audience
    case authorizedParty = "authorized_party"
    case idTokenClaims = "id_token_claims"
    case expiry
    case issuedAt = "issued_at"
    case notBefore = "not_before"
    case nonce
    /// The `auth_req_id` of this request, or none (CIBA Core section 10.3.1).
    case requestID = "auth_req_id"
    case acr
    case authTime = "auth_time"
    case accessTokenHash = "at_hash"
    case context
    /// The userinfo response has the same subject (OpenID Connect Core section 5.3.2).
    case userInfoSubject = "userinfo_subject"
    case sameUser = "same_user"

    public var demand: String {
        switch self {
        case .encryption:
            "The ID token must be encrypted for the client's decryption_key, as id_token_encrypted_response_alg and "
                + "id_token_encrypted_response_enc say."
        case .format: "The ID token must be a signed JWT in compact form, of at most the allowed size."
        case .criticalHeader: "The ID token's header must not contain crit or b64."
        case .type: "The ID token's typ must be one of the provider's id_token_types."
        case .algorithm: "The ID token must be signed with an allowed algorithm."
        case .key: "The ID token must be signed with exactly one of the provider's current signing keys."
        case .signature: "The ID token's signature does not verify."
        case .claims: "The ID token's claims must be a JSON object without duplicate names."
        case .issuer: "The ID token's iss must be the provider's issuer."
        case .subject: "The ID token must have a sub of 1 to 255 visible ASCII characters."
        case .audience: "The ID token's aud must be this client alone."
        case .authorizedParty: "The ID token's azp must be this client or absent."
        case .idTokenClaims:
            "An ID token has no events, which logout tokens have. A token of type at+jwt must have the nonce of the "
                + "sign-in, or acr and auth_time, and neither client_id nor scope: otherwise it is an access token."
        case .expiry: "The ID token has expired, or has no valid exp."
        case .issuedAt: "The ID token was issued too long ago, or in the future, or has no valid iat."
        case .notBefore: "The ID token is not valid yet, or its nbf is not valid."
        case .nonce: "The ID token must contain the nonce of this sign-in."
        case .requestID: "The ID token's auth_req_id must be that of the request it came for."
        case .acr: "The ID token's acr must be one of the requested acr_values."
        case .authTime:
            "The ID token's auth_time is missing or invalid, or older than the requested max_age or prompt allows."
        case .accessTokenHash: "The ID token's at_hash does not match the access token."
        case .context: "The ID token's context must be the requested one."
        case .userInfoSubject: "The userinfo response must have the same sub as the ID token."
        case .sameUser: "The ID token must be about the user who is signed in."
        }
    }
}
