import OpenIDConnect
import Primitives
import StorageModel

/// Offers registration to a user whom a carrier vouches for and who is unknown here.
struct RegistrationOffers: Sendable {
    let rules: RegistrationRules
    let lifetime: Int64
    let claimsVault: ClaimsVault
    let store: any RegistrationStore
    let clock: WallClock
    let random: RandomSource

    /// Stores a user's identity under a new handle.
    /// - Parameters:
    ///   - codeChallenge: The challenge of a redirect's start. The app gets the handle in a URL that others may
    ///     read, so the handle needs the verifier then.
    ///   - cache: Forgets the users who lose a verified phone number to this one.
    func offer(
        to user: VerifiedSignIn, clientID: String, codeChallenge: String? = nil, _ correlationID: CorrelationID,
        _ cache: SessionCache? = nil
    ) async throws(SignInError) -> RegistrationOffer {
        let handle = random.token()
        var pending = PendingRegistration(
            handle: Self.hash(of: handle, codeChallenge), identity: user.identity, clientID: clientID,
            profile: user.userInfo?.attributes ?? Profile(), expiresAt: clock.now().advanced(bySeconds: lifetime))
        pending.verified = user.userInfo?.verified ?? VerifiedFlags()
        let claims = user.userInfo?.claims ?? ConsentedClaims()
        pending.claims = claimsVault.stored(claims, of: pending.handle)
        pending.providerSession = user.providerSession
        pending.phoneNumberProof = user.provenPhoneNumber.map {
            PhoneNumberProof(of: $0, at: clock.now(), requestID: correlationID.text)
        }
        for holder in try await stored(await store.addPendingRegistration(pending)) { cache?.remove(holder) }
        return RegistrationOffer(
            handle: Secret(handle), codeChallenge: codeChallenge, profile: pending.profile, claims: claims,
            missing: rules.missing(in: pending.profile),
            expiresIn: lifetime, correlationID: correlationID)
    }

    /// The key of a stored registration: a hash of the handle, and of the challenge if there is one, so that a wrong or
    /// an unexpected verifier finds nothing.
    static func hash(of handle: String, _ codeChallenge: String?) -> TokenHash {
        TokenHash(sha256Of: codeChallenge.map { handle + " " + $0 } ?? handle)
    }
}
