package import Primitives

/// The verified identities that wait for their owners to register.
package protocol RegistrationStore: Sendable {
    /// Stores a registration.
    /// - Returns: The other users who had its proven phone number as verified, and have it no longer.
    @discardableResult
    func addPendingRegistration(_ registration: PendingRegistration) async throws(StorageError) -> [UserID]

    /// The pending registration of a handle, without spending it; nil if unknown, used or expired at `now`.
    func pendingRegistration(_ handle: TokenHash, at now: Timestamp) async throws(StorageError) -> PendingRegistration?

    /// Completes a pending registration: makes the user and the session, and stores the provider's tokens that wait
    /// with it. Every result spends the handle, so that a handle does not reveal whose addresses have accounts.
    func register(_ registration: NewRegistration) async throws(StorageError) -> RegistrationResult
}
