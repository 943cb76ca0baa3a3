package import Primitives

/// A verified identity that waits for its user to register.
package struct PendingRegistration: Sendable, Hashable {
    package let handle: TokenHash
    package let identity: Identity
    package let clientID: String
    /// The carrier's claims, to prefill the form.
    package let profile: Profile
    /// Which of the claims the carrier verified.
    package var verified = VerifiedFlags()
    package let expiresAt: Timestamp
    /// The provider's session, if the ID token has a `sid`.
    package var providerSession: ProviderSessionHash?

    package init(handle: TokenHash, identity: Identity, clientID: String, profile: Profile, expiresAt: Timestamp) {
        self.handle = handle
        self.identity = identity
        self.clientID = clientID
        self.profile = profile
        self.expiresAt = expiresAt
    }
}

/// The result of a registration.
package enum RegistrationResult: Sendable, Hashable {
    case registered(User)
    /// The identity became a user in the meantime.
    case userAlreadyExists
    /// Unknown, used or expired.
    case unknownHandle
}
