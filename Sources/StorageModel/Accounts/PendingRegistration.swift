public import Primitives

/// A verified identity that waits for its owner to register.
public struct PendingRegistration: Sendable, Hashable {
    public let handle: TokenHash
    public let identity: Identity
    public let clientID: String
    /// What the carrier told, as a start for the form.
    public let profile: Profile
    public let expiresAt: Timestamp
    /// The provider's own session, if it named it (`sid`).
    public var providerSession: ProviderSessionHash?

    public init(handle: TokenHash, identity: Identity, clientID: String, profile: Profile, expiresAt: Timestamp) {
        self.handle = handle
        self.identity = identity
        self.clientID = clientID
        self.profile = profile
        self.expiresAt = expiresAt
    }
}

public enum RegistrationResult: Sendable, Hashable {
    case registered(User)
    /// The identity became a user in the meantime.
    case userAlreadyExists
    /// Unknown, used or expired.
    case unknownHandle
}
