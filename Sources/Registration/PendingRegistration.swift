import Primitives
import StorageModel

/// A verified identity that waits for its user to register.
struct PendingRegistration: Sendable, Hashable {
    let handle: TokenHash
    let identity: Identity
    let clientID: String
    /// The provider's claims, to prefill the form.
    let profile: Profile
    /// Which of the claims the provider verified.
    var verified = VerifiedFlags()
    /// The provider's further claims, encrypted by the use case.
    var claims: String?
    /// That the mobile network has proven a phone number to be the identity's: other users lose it at once. Not stored.
    var phoneNumberProof: PhoneNumberProof?
    let expiresAt: Timestamp
    /// The provider's session, if the ID token has a `sid`.
    var providerSession: ProviderSessionHash?
}

/// The completion of a pending registration.
struct NewRegistration: Sendable {
    let handle: TokenHash
    let profile: Profile
    let session: NewSession
    /// The new user's public id.
    let publicID: String
    /// The provider's tokens that wait with the registration, if there are any.
    var tokens: WaitingProviderTokens?
    let time: Timestamp
    /// The provider's further claims, encrypted by the use case for the new user.
    var claims: String?
    /// Whether an e-mail address that a provider vouches for in another account is refused.
    var refusesVerifiedEmail = false
}

/// The result of a registration.
enum RegistrationResult: Sendable, Hashable {
    case registered(User)
    /// The identity became a user in the meantime.
    case userAlreadyExists
    /// A provider vouches for the e-mail address in another account.
    case emailAlreadyExists
    /// Unknown, used or expired.
    case unknownHandle
}

/// That a mobile network has proven a phone number to be that of an identity.
struct PhoneNumberProof: Sendable, Hashable {
    let number: String
    let time: Timestamp
    /// For the audit log.
    let requestID: String?
}
