import Primitives

/// Rows that expire, and how they are removed.
struct Expired {
    let table: StaticString
    let key: StaticString
    var condition: StaticString = "expires_at <= ?1"

    // A session stays until its refresh token has expired too.
    static let sessions = Expired(
        table: "sessions", key: "serial", condition: "refresh_expires_at <= ?1 AND expires_at <= ?1")
    static let all = [
        sessions,
        Expired(table: "pending_registrations", key: "handle_hash"),
        Expired(table: "last_rotations", key: "session", condition: "grace_ends_at <= ?1"),
        Expired(table: "sealed_notes", key: "handle_hash"),
        // A day later, so that the code of the receipt is known as used for longer than any provider takes it.
        Expired(table: "receipts", key: "receipt_hash", condition: "expires_at <= ?1 - 86400"),
        Expired(table: "backchannel_authentications", key: "handle_hash", condition: "removed_at <= ?1"),
        // Only tokens that cannot be refreshed have an expiry.
        Expired(table: "provider_tokens", key: "serial"),
        Expired(table: "logout_tokens", key: "token_hash"),
        // In milliseconds.
        Expired(table: "prompts", key: "user_hash", condition: "whole_at <= ?1 * 1000"),
        Expired(table: "recent_sign_ins", key: "fingerprint"),
        // After a year, the longest that they are kept: those that a build without capsules finds. They are in the
        // order of time.
        Expired(
            table: "capsules", key: "serial",
            condition: "time <= ?1 - 31536000 AND serial < (SELECT min(serial) FROM capsules) + 500"),
        Expired(table: "phone_verifications", key: "id_hash"),
        // A day later, as the outcomes. Until then they are read as failed.
        Expired(table: "pending_phone_verifications", key: "id_hash", condition: "expires_at <= ?1 - 86400"),
    ]

    /// Removes at most `limit` expired rows; returns how many went.
    func remove(at now: Timestamp, limit: Int, in db: SQLSession) throws -> Int {
        // Twice the condition: PostgreSQL looks at it again if a row was changed meanwhile, such as by a refresh.
        try db.run(
            """
            DELETE FROM \(table) WHERE \(key) IN (SELECT \(key) FROM \(table) WHERE \(condition) LIMIT ?2) \
            AND \(condition)
            """, now, Int64(limit))
    }
}
