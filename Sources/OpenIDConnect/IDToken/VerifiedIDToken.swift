public import Primitives

/// The claims of an ID token that has passed every check of `IDTokenValidator`. Only this module can make one.
///
/// The subject is personal, so only the issuer is printed and reflected.
public struct VerifiedIDToken: Sendable, Hashable {
    /// With ``subject``, the user's identity. Never use the subject alone.
    public let issuer: String
    /// 1 to 255 visible ASCII characters, unique within ``issuer``.
    public let subject: String
    /// The client that the token is for (`aud`).
    public let clientID: ClientID
    /// When the token was issued (`iat`).
    public let issuedAt: Timestamp
    /// When the token expires (`exp`).
    public let expiresAt: Timestamp
    /// When the user authenticated (`auth_time`), if the token says so.
    public let authTime: Timestamp?
    /// The authentication context class (`acr`), if the token names one.
    public let acr: String?
    /// The text the user approved, if the token names one.
    public let context: String?
    /// The `aka` claim: port tokens in compact form, not yet verified, with which a former carrier vouches for the
    /// user.
    public let portTokens: [Secret]
    /// The provider's id of the user's session (`sid`), if the token names one.
    public let sessionID: String?
    /// All claims.
    let claims: JSONObject

    /// The user's attributes in the token. Read on demand, because they are seldom needed.
    public var attributes: UserInfo { UserInfo(claims) }
}

extension VerifiedIDToken: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }

/// The ID token of a sign-in, as far as an ID token that comes with a refresh is compared with it (OpenID Connect Core
/// section 12.2).
///
/// The subject is personal, so only the issuer is printed and reflected.
public struct OriginalIDToken: Sendable, Hashable {
    /// The issuer (`iss`).
    public let issuer: String
    /// The user at the issuer (`sub`).
    public let subject: String
    /// The further claims; nil if they are not known.
    public let claims: Claims?

    /// The claims besides the identity.
    public struct Claims: Sendable, Hashable {
        /// When the user authenticated (`auth_time`); nil if the token did not say so.
        public let authTime: Timestamp?
        /// The nonce of the sign-in (`nonce`); nil if the token had none.
        public let nonce: String?
        /// The authorized party (`azp`); nil if the token named none.
        public let authorizedParty: String?

        /// The claims of a token.
        public init(authTime: Timestamp?, nonce: String?, authorizedParty: String?) {
            self.authTime = authTime
            self.nonce = nonce
            self.authorizedParty = authorizedParty
        }
    }

    /// The ID token of an identity.
    public init(issuer: String, subject: String, claims: Claims?) {
        self.issuer = issuer
        self.subject = subject
        self.claims = claims
    }
}

extension OriginalIDToken: Redacted { public var shown: [Mirror.Child] { [("issuer", issuer)] } }

extension OriginalIDToken.Claims: Redacted {}

extension VerifiedIDToken {
    /// What an ID token of a later refresh is compared with, besides issuer and subject.
    public var claimsForRefresh: OriginalIDToken.Claims {
        OriginalIDToken.Claims(
            authTime: authTime, nonce: claims["nonce"]?.string, authorizedParty: claims["azp"]?.string)
    }
}
