package import OpenIDConnect
package import Primitives
package import StorageModel

/// The outcome of a sign-in that was not refused.
package enum SignInOutcome: Sendable {
    case signedIn(SignedIn)
    /// The carrier vouches for a user who is unknown here and must register first.
    case mustRegister(RegistrationOffer)
}

/// A user has a new session.
package struct SignedIn: Sendable {
    package let tokens: SessionTokens
    package let userID: UserID
    /// Whether this sign-in created the user. A repeated one says the same as the first.
    package let isNew: Bool
    package let correlationID: CorrelationID
    /// Whether the same sign-in ended before: then the user is counted already.
    var isRepeated = false
}

/// What an unknown user needs to register.
package struct RegistrationOffer: Sendable {
    /// Represents the verified identity; works once.
    package let handle: Secret
    /// The `code_challenge` of the redirect's start, without whose verifier the handle is unknown.
    package let codeChallenge: String?
    /// The user's attributes from the carrier.
    package let profile: Profile
    /// The further claims that the user consented to share.
    package let claims: ConsentedClaims
    /// The attributes that a registration needs and the carrier did not send.
    package let missing: [RegistrationRules.Attribute]
    /// Seconds until the handle expires.
    package let expiresIn: Int64
    package let correlationID: CorrelationID

    package init(
        handle: Secret, codeChallenge: String? = nil, profile: Profile, claims: ConsentedClaims = ConsentedClaims(),
        missing: [RegistrationRules.Attribute], expiresIn: Int64, correlationID: CorrelationID
    ) {
        self.handle = handle
        self.codeChallenge = codeChallenge
        self.profile = profile
        self.claims = claims
        self.missing = missing
        self.expiresIn = expiresIn
        self.correlationID = correlationID
    }
}
