package import Primitives

/// The verified identities that wait for their owners to register.
package protocol RegistrationStore: Sendable {
    func addPendingRegistration(_ registration: PendingRegistration) async throws(StorageError)

    /// The pending registration of a handle, without spending it; nil if unknown, used or expired at `now`.
    func pendingRegistration(_ handle: TokenHash, at now: Timestamp) async throws(StorageError) -> PendingRegistration?

    /// Completes a pending registration: makes the user and the session, and stores the provider's tokens that wait
    /// with it. `.registered` and `.userAlreadyExists` spend the handle.
    func register(
        handle: TokenHash, profile: Profile, session: NewSession, publicID: String, tokens: WaitingProviderTokens?,
        at now: Timestamp
    ) async throws(StorageError) -> RegistrationResult
}
