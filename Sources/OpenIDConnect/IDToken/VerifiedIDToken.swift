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
