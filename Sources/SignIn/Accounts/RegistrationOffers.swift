import OpenIDConnect
import Primitives
import StorageModel

/// Offers a registration to whoever a carrier vouched for and nobody here knows.
struct RegistrationOffers: Sendable {
    let rules: RegistrationRules
    let lifetime: Int64
    let store: any RegistrationStore
    let clock: WallClock
    let random: RandomSource

    /// Makes a handle that stands for the identity, and remembers it.
    /// - Parameter codeChallenge: What the app began a redirect with; then the handle is worth nothing without its
    ///   verifier, as it comes to the app in a URL that others may read.
    func offer(
        to identity: Identity, _ profile: Profile?, clientID: String, codeChallenge: String? = nil,
        providerSession: ProviderSessionHash? = nil, _ correlationID: CorrelationID
    ) async throws(SignInError) -> RegistrationOffer {
        let handle = random.token()
        var pending = PendingRegistration(
            handle: Self.hash(of: handle, codeChallenge), identity: identity, clientID: clientID,
            profile: profile ?? Profile(), expiresAt: clock.now().advanced(bySeconds: lifetime))
        pending.providerSession = providerSession
        try await stored(await store.addPendingRegistration(pending))
        return RegistrationOffer(
            handle: Secret(handle), profile: pending.profile, missing: rules.missing(in: pending.profile),
            expiresIn: lifetime, correlationID: correlationID)
    }

    /// What a registration is on record under: of the handle, and of the challenge if there is one, so that who shows
    /// another verifier, or one where none was asked for, finds nothing.
    static func hash(of handle: String, _ codeChallenge: String?) -> TokenHash {
        TokenHash(sha256Of: codeChallenge.map { handle + " " + $0 } ?? handle)
    }
}
