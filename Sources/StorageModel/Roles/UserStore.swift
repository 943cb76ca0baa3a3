package import Primitives

/// The users' profiles and accounts.
package protocol UserStore: Sendable {
    /// Changes a user's profile; adds the audit event if a value changed.
    /// - Returns: The user after the change; nil if there is none.
    func editProfile(
        of user: UserID, _ change: ProfileChange, recording event: AuditEvent
    ) async throws(StorageError) -> User?

    /// Erases a user with identities, sessions, refresh tokens and profile, with an audit event.
    /// - Returns: False if there was no such user.
    func deleteUser(_ user: UserID, recording event: AuditEvent?) async throws(StorageError) -> Bool

    /// Counts a change of a user's account against an allowance that all processes share.
    /// - Returns: The seconds to wait if the allowance is used up, and then the change is not counted; nil if it fits.
    func countChange(
        of user: UserID, within allowance: ChangeAllowance, at now: Timestamp
    ) async throws(StorageError) -> Int64?
}
