import Primitives

/// What a relying party asked for, and an authorization code stands for.
struct GrantTerms: Sendable {
    let clientID: String
    let redirectURI: String
    let codeChallenge: String
    let nonce: String?
    let scopes: [String]
    let acr: String
    let context: String?
}

/// What a user agreed to.
struct Grant: Sendable {
    let mccmnc: String
    let terms: GrantTerms
    let user: CarrierSimulator.User
    let approvedAt: Timestamp
    /// Set once the code was redeemed: the access token that it brought.
    var accessToken: String?
    var isRedeemed = false

    /// Codes live for ten minutes at most (RFC 6749 section 4.1.2).
    static let codeLifetime: Int64 = 300
    /// Of ID tokens and access tokens alike.
    static let tokenLifetime: Int64 = 600

    var expiresAt: Timestamp { approvedAt.advanced(bySeconds: Self.codeLifetime) }
}
