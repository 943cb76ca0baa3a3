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
    /// - Parameter session: The id of the user's session that asks for it, which must still exist; nil for operators.
    /// - Returns: False if there was no such user or session.
    func deleteUser(
        _ user: UserID, in session: String?, recording event: AuditEvent?
    ) async throws(StorageError) -> Bool

    /// Counts a change of a user's account against an allowance that all processes share.
    /// - Returns: The seconds to wait if the allowance is used up, and then the change is not counted; nil if it fits.
    func countChange(
        of user: UserID, within allowance: SharedAllowance, at now: Timestamp
    ) async throws(StorageError) -> Int64?
}
