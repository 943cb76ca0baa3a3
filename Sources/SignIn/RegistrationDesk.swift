import OpenIDConnect
import Primitives
import Storage

/// Offers a registration to whoever a carrier vouched for and nobody here knows.
struct RegistrationDesk: Sendable {
    let rules: RegistrationRules
    let lifetime: Int64
    let store: any Store
    let clock: WallClock
    let random: RandomSource

    /// Makes a handle that stands for the identity, and remembers it.
    func offer(
        to identity: Identity, _ profile: Profile?, clientID: String, _ correlationID: CorrelationID
    ) async throws(SignInError) -> RegistrationOffer {
        let handle = random.token()
        let pending = PendingRegistration(
            handle: try TokenHash(sha256Of: handle), identity: identity, clientID: clientID,
            profile: profile ?? Profile(), expiresAt: clock.now().advanced(bySeconds: lifetime))
        try await storing { () async throws(StorageError) in try await store.addPendingRegistration(pending) }
        return RegistrationOffer(
            handle: Secret(handle), profile: pending.profile, missing: rules.missing(in: pending.profile),
            expiresIn: lifetime, correlationID: correlationID)
    }
}
