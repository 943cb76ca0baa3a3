public import Primitives

/// What an ID token says, after every check of `IDTokenValidator` has passed. Only this module can make one.
///
/// The subject is personal: neither `print` nor interpolation nor reflection shows it.
public struct VerifiedIDToken: Sendable, Hashable {
    /// With ``subject``, the user's identity. Never use the subject alone.
    public let issuer: String
    /// 1 to 255 visible ASCII characters, unique within ``issuer``.
    public let subject: String
    public let clientID: ClientID
    public let issuedAt: Timestamp
    public let expiresAt: Timestamp
    public let authTime: Timestamp?
    public let acr: String?
    /// The text the user approved, if the token names one.
    public let context: String?
    /// The `aka` claim: port tokens in compact form, not yet verified, by which a former carrier vouches for the user.
    public let portTokens: [Secret]
    /// The provider's id of the session that the user signed in with (`sid`), if it names one.
    public let sessionID: String?
    /// All that the token says.
    let claims: JSONObject

    /// What the token itself tells of the user: read only where somebody asks, which is seldom.
    public var attributes: UserInfo { UserInfo(claims) }
}

extension VerifiedIDToken: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "VerifiedIDToken(issuer: \(issuer))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["issuer": issuer]) }
}
