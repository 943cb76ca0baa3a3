package import Primitives

/// The users' profiles and accounts.
package protocol UserStore: Sendable {
    /// Changes a user's profile; adds the audit event if a value changed.
    /// - Parameter session: The id of the user's session that asks for it. It must still exist, so that a request that
    ///   waited cannot change anything after its session was revoked.
    /// - Returns: The user after the change; nil if there is no such user or session.
    func editProfile(
        of user: UserID, in session: String, _ change: ProfileChange, recording event: AuditEvent
    ) async throws(StorageError) -> User?

    /// Erases a user with identities, sessions, refresh tokens and profile, with an audit event.
    /// - Parameter session: The id of the user's session that asks for it, which must still exist; nil for
    ///   administrators.
    /// - Returns: False if there was no such user or session.
    func deleteUser(
        _ user: UserID, in session: String?, recording event: AuditEvent?
    ) async throws(StorageError) -> Bool
}

/// The identities that users sign in with.
package protocol IdentityStore: Sendable {
    /// The status of each identity, in their order.
    func statuses(of identities: [Identity]) async throws(StorageError) -> [IdentityStatus]

    /// The identities a user can sign in with, the oldest first.
    func identities(of user: UserID) async throws(StorageError) -> [LinkedIdentity]

    /// Adds an identity to the user who holds a session, if no user has it, with an audit event.
    func link(_ link: IdentityLink) async throws(StorageError) -> IdentityLinking

    /// Removes an identity from a user, unless it is the last, and ends the sessions that it signed in, with an audit
    /// event.
    /// - Parameter session: The id of the user's session that asks for it, which must still exist, and stays.
    func removeIdentity(
        id: String, of user: UserID, keeping session: String?,
        recording event: @escaping @Sendable (Identity) -> AuditEvent
    ) async throws(StorageError) -> IdentityRemoval
}

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
