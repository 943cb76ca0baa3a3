/// The checks an ID token must pass: those of OpenID Connect Core section 3.1.3.7 and RFC 8725, in the order in which
/// they are made. The raw values are stable names for error answers, logs and metrics.
public enum IDTokenCheck: String, TokenCheck, CaseIterable {
    case format
    case criticalHeader = "critical_header"
    case type
    case algorithm
    case key
    case signature
    case claims
    case issuer
    case subject
    case audience
    case authorizedParty = "authorized_party"
    case expiry
    case issuedAt = "issued_at"
    case notBefore = "not_before"
    case nonce
    case requestID = "auth_req_id"
    case acr
    case authTime = "auth_time"
    case accessTokenHash = "at_hash"
    case context
    case userInfoSubject = "userinfo_subject"
    case sameUser = "same_user"

    /// What the check demands, as a sentence for an error answer.
    public var demand: String {
        switch self {
        case .format:
            "The ID token must be a signed JWT in compact form with a strict JSON header, of at most the allowed size."
        case .criticalHeader:
            "The ID token's header must not have extensions that change how the token is read (crit, b64)."
        case .type: "The ID token's header, if it names a type, must name JWT."
        case .algorithm: "The ID token must be signed with an allowed algorithm that fits the key."
        case .key: "The ID token must be signed with exactly one of the provider's current signing keys."
        case .signature: "The ID token's signature must hold."
        case .claims: "The ID token's claims must be a strict JSON object."
        case .issuer: "The ID token must be issued by the provider that was asked."
        case .subject: "The ID token must have a subject of 1 to 255 visible ASCII characters."
        case .audience: "The ID token must be meant for this client and no other."
        case .authorizedParty: "The ID token's authorized party, if it names one, must be this client."
        case .expiry: "The ID token must have an expiry time, after its issue, that is not over."
        case .issuedAt: "The ID token must have been issued just now."
        case .notBefore: "The ID token must be valid already."
        case .nonce: "The ID token must carry the nonce of this sign-in."
        case .requestID: "The ID token must be of the server-initiated request that it came for."
        case .acr: "The ID token must name one of the authentication contexts that were asked for."
        case .authTime: "The user must have authenticated as recently as was asked for."
        case .accessTokenHash: "The ID token's at_hash, if it has one, must match the access token."
        case .context: "The ID token must carry the context that was asked for."
        case .userInfoSubject: "The userinfo answer must be about the ID token's subject."
        case .sameUser: "The ID token must be about the user who is signed in."
        }
    }
}
