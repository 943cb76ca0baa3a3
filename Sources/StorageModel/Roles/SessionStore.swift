package import Primitives

/// The sessions of signed-in users.
package protocol SessionStore: Sendable {
    /// The session of a token and its user; nil if unknown, revoked or expired at `now`.
    func session(_ token: TokenHash, at now: Timestamp) async throws(StorageError) -> SessionAndUser?

    /// Stores one more session of a user, if the earlier one still exists and no session of the user was ended since.
    func addSession(_ session: NewSession, besides earlier: GivenSession) async throws(StorageError) -> SessionAddition

    /// Revokes a user's session by its id with all its tokens, and records an audit event if there is one.
    /// - Parameter session: The id of the user's session that asks for it, which must still exist; nil if no session
    ///   asks.
    /// - Returns: Why no session was revoked, if none was; then no event is added.
    func revokeSession(
        id: String, of user: UserID, in session: String?, recording event: AuditEvent?
    ) async throws(StorageError) -> SessionRevocation

    /// Revokes all of a user's sessions but the one that asks for it, with an audit event if there were any.
    /// - Parameter id: The session that asks; nil if none does, and then all are revoked.
    /// - Returns: Their number; nil if the session that asks does not exist any more, and then none is revoked.
    func revokeSessions(
        of user: UserID, except id: String?, recording event: AuditEvent
    ) async throws(StorageError) -> Int?

    /// A user's sessions that have not expired at `now`, at most `limit`, the last seen first.
    func sessions(of user: UserID, at now: Timestamp, limit: Int) async throws(StorageError) -> [SessionSummary]

    /// Stores when sessions were last seen; skips those that have ended.
    func recordLastSeen(_ sessions: [SessionLastSeen]) async throws(StorageError)
}

/// The refresh tokens of sessions (RFC 9700 section 4.14.2).
package protocol RefreshTokenStore: Sendable {
    /// The state of a refresh token at `now`.
    func refreshToken(_ token: RefreshTokenHashes, at now: Timestamp) async throws(StorageError) -> RefreshTokenState

    /// Replaces a session's tokens. False if the presented refresh token is not the session's live one; then nothing
    /// changed.
    func rotate(_ rotation: RefreshTokenRotation) async throws(StorageError) -> Bool
}
