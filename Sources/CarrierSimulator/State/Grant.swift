import Primitives

/// What a relying party asked for in an authorization request.
struct GrantTerms: Sendable {
    let clientID: String
    var redirectURI = ""
    var codeChallenge = ""
    var nonce: String?
    var scopes: [String]
    let acr: String
    var context: String?
    /// The thumbprint of the key that the code is bound to (`dpop_jkt`, RFC 9449 section 10); nil for none.
    var keyThumbprint: String?
}

/// What a user agreed to. An authorization code and its tokens stand for it.
struct Grant: Sendable {
    let mccmnc: String
    let terms: GrantTerms
    let user: CarrierSimulator.User
    let approvedAt: Timestamp
    /// The access token issued for the code; nil until the code is redeemed.
    var accessToken: String?
    var isRedeemed = false

    /// Seconds. RFC 6749 section 4.1.2 allows ten minutes at most.
    static let codeLifetime: Int64 = 300
    /// Of ID tokens and access tokens, in seconds.
    static let tokenLifetime: Int64 = 600

    var expiresAt: Timestamp { approvedAt.advanced(bySeconds: Self.codeLifetime) }
    var subject: String { Subject.identifier(mccmnc: mccmnc, clientID: terms.clientID, userID: user.id) }
}
