public import OpenIDConnect
public import Primitives
public import StorageModel

/// How a sign-in that was not refused ended.
public enum SignInOutcome: Sendable {
    case signedIn(SignedIn)
    /// The carrier vouches for the user, whom nobody here knows yet, and who has to register first.
    case mustRegister(RegistrationOffer)
}

/// A user has a new session.
public struct SignedIn: Sendable {
    public let tokens: SessionTokens
    public let userID: UserID
    /// True if the user was made by this very sign-in.
    public let isNew: Bool
    public let correlationID: CorrelationID
}

/// What an unknown user needs to register.
public struct RegistrationOffer: Sendable {
    /// Stands for the verified identity; works once.
    public let handle: Secret
    /// What the carrier told of the user.
    public let profile: Profile
    /// What a registration must have and the carrier did not tell.
    public let missing: [RegistrationRules.Attribute]
    /// Seconds until the handle is worth nothing.
    public let expiresIn: Int64
    public let correlationID: CorrelationID
}
