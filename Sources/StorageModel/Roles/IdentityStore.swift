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
