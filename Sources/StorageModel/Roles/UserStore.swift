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
