import Primitives
import StorageModel

/// A user's sessions among each other.
extension SessionsTable {
    /// The sessions that have not expired, the latest seen first.
    static func summaries(of user: UserID, at now: Timestamp, limit: Int, in db: SQLSession) throws -> [SessionSummary]
    {
        var query = try CachedStatement(db, selectSummaries)
        query.bind(user.number)
        query.bind(now.secondsSinceEpoch)
        query.bind(Int64(limit))
        var summaries: [SessionSummary] = []
        while try query.next() {
            summaries.append(
                SessionSummary(
                    id: try query.requiredText(0), clientID: try query.requiredText(1), device: query.text(2),
                    createdAt: Timestamp(secondsSinceEpoch: query.number(3)),
                    lastSeenAt: Timestamp(secondsSinceEpoch: query.number(4)),
                    expiresAt: Timestamp(secondsSinceEpoch: query.number(5))))
        }
        return summaries
    }

    /// Whether a session is there that a sign-in gave, and none of the user's has been ended since.
    static func stands(_ session: GivenSession, in db: SQLSession) throws -> Bool {
        var query = try CachedStatement(db, selectStatus)
        query.bind(session.user.number)
        query.bind(session.id)
        query.bind(session.endings)
        return try query.next()
    }

    /// Keeps the later of the stored and the given time.
    static func recordLastSeen(_ session: SessionLastSeen, in db: SQLSession) throws {
        var statement = try CachedStatement(db, updateSeen)
        statement.bind(session.time.secondsSinceEpoch)
        statement.bind(session.userID.number)
        statement.bind(session.sessionID)
        try statement.run()
    }

    private static let selectSummaries = """
        SELECT id, client_id, device, created_at, COALESCE(seen_at, created_at) AS seen, \
        CASE WHEN expires_at > refresh_expires_at THEN expires_at ELSE refresh_expires_at END FROM sessions \
        WHERE user_id = ?1 AND (refresh_expires_at > ?2 OR expires_at > ?2) ORDER BY seen DESC, serial DESC LIMIT ?3
        """
    private static let selectStatus = """
        SELECT 1 FROM sessions JOIN users ON users.id = sessions.user_id \
        WHERE sessions.user_id = ? AND sessions.id = ? AND users.sessions_ended = ?
        """
    private static let updateSeen = """
        UPDATE sessions SET seen_at = ?1 WHERE user_id = ?2 AND id = ?3 AND COALESCE(seen_at, created_at) < ?1
        """
}
