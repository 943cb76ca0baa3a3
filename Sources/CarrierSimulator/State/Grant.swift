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
    /// Whether the user is the same for all clients. Google and Apple give all those of one developer one subject.
    var sharesSubjects = false
    /// Whether a code came beside a native ID token, and so without a redirect URI.
    var isNative = false
    /// Whether its tokens have a refresh token, where the provider has any.
    var isOffline = true
}

/// What a user agreed to, or what a client may do for itself. An authorization code and its tokens stand for it.
struct Grant: Sendable {
    let mccmnc: String
    var terms: GrantTerms
    /// Nil for a client's own tokens.
    let user: CarrierSimulator.User?
    /// Whether the network or the SIM authenticated the user, and not a client that named their number.
    var isAuthenticated = true
    var approvedAt: Timestamp
    /// The access token issued for the code; nil until the code is redeemed.
    var accessToken: String?
    var isRedeemed = false

    /// Seconds. RFC 6749 section 4.1.2 allows ten minutes at most.
    static let codeLifetime: Int64 = 300
    /// Of ID tokens, in seconds.
    static let tokenLifetime: Int64 = 600

    /// Empty without a user.
    var subject: String {
        let client = terms.sharesSubjects ? "" : terms.clientID
        return user.map { Subject.identifier(mccmnc: mccmnc, clientID: client, userID: $0.id) } ?? ""
    }
    var expiresAt: Timestamp { approvedAt.advanced(bySeconds: Self.codeLifetime) }
}

/// An access token, and what it is good for.
struct AccessToken: Sendable {
    let grant: Grant
    var expiresAt: Timestamp
    var isRevoked = false
    /// The family of the refresh token issued with it.
    let family: String
    /// The thumbprint of the key that it is bound to; nil for a Bearer token.
    var keyThumbprint: String?
    /// The fingerprint of the certificate that it is bound to (RFC 8705 section 3); nil for none.
    var certificate: String?
    /// Whether Number Verification was called with it.
    var isSpent = false
}

/// A refresh token. All refresh tokens of one sign-in are a family.
struct RefreshToken: Sendable {
    let grant: Grant
    let family: String
    /// The thumbprint of the key that it is bound to; nil for none.
    var keyThumbprint: String?
    var spentAt: Timestamp?
    var isRevoked = false
}
