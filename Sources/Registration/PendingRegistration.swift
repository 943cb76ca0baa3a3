package import Primitives
package import StorageModel

/// A verified identity that waits for its user to register.
package struct PendingRegistration: Sendable, Hashable {
    package let handle: TokenHash
    package let identity: Identity
    package let clientID: String
    /// The provider's claims, to prefill the form.
    package let profile: Profile
    /// Which of the claims the provider verified.
    package var verified = VerifiedFlags()
    /// The provider's further claims, encrypted by the use case.
    package var claims: String?
    /// That the mobile network has proven a phone number to be the identity's: other users lose it at once. Not stored.
    package var phoneNumberProof: PhoneNumberProof?
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

/// The completion of a pending registration.
package struct NewRegistration: Sendable {
    package let handle: TokenHash
    package let profile: Profile
    package let session: NewSession
    /// The new user's public id.
    package let publicID: String
    /// The provider's tokens that wait with the registration, if there are any.
    package let tokens: WaitingProviderTokens?
    package let time: Timestamp
    /// The provider's further claims, encrypted by the use case for the new user.
    package var claims: String?
    /// Whether an e-mail address that a provider vouches for in another account is refused.
    package var refusesVerifiedEmail = false

    package init(
        handle: TokenHash, profile: Profile, session: NewSession, publicID: String,
        tokens: WaitingProviderTokens? = nil, at time: Timestamp
    ) {
        self.handle = handle
        self.profile = profile
        self.session = session
        self.publicID = publicID
        self.tokens = tokens
        self.time = time
    }
}

/// The result of a registration.
package enum RegistrationResult: Sendable, Hashable {
    case registered(User)
    /// The identity became a user in the meantime.
    case userAlreadyExists
    /// A provider vouches for the e-mail address in another account.
    case emailAlreadyExists
    /// Unknown, used or expired.
    case unknownHandle
}

/// That a mobile network has proven a phone number to be that of an identity.
package struct PhoneNumberProof: Sendable, Hashable {
    package let number: String
    package let time: Timestamp
    /// For the audit log.
    package let requestID: String?

    package init(of number: String, at time: Timestamp, requestID: String?) {
        self.number = number
        self.time = time
        self.requestID = requestID
    }
}
