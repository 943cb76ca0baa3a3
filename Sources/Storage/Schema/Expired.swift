import Primitives

/// Rows that expire, and how they are removed.
struct Expired {
    private let table: StaticString
    private let key: StaticString
    private let condition: StaticString

    private init(_ table: StaticString, _ key: StaticString, _ condition: StaticString = "expires_at <= ?1") {
        (self.table, self.key, self.condition) = (table, key, condition)
    }

    static let all = [
        // A session stays until its refresh token has expired too.
        Expired("sessions", "serial", "refresh_expires_at <= ?1 AND expires_at <= ?1"),
        Expired("pending_registrations", "handle_hash"),
        Expired("last_rotations", "session", "grace_ends_at <= ?1"),
        Expired("sealed_notes", "handle_hash"),
        // A day later, so that the code of the receipt is known as used for longer than any provider takes it.
        Expired("receipts", "receipt_hash", "expires_at <= ?1 - 86400"),
        Expired("backchannel_authentications", "handle_hash", "removed_at <= ?1"),
        // Only tokens that cannot be refreshed have an expiry.
        Expired("provider_tokens", "serial"),
        Expired("logout_tokens", "token_hash"),
        // In milliseconds.
        Expired("prompts", "user_hash", "whole_at <= ?1 * 1000"),
        Expired("recent_sign_ins", "fingerprint"),
        // After a year, the longest that they are kept: those that a build without capsules finds. They are in the
        // order of time.
        Expired(
            "capsules", "serial", "time <= ?1 - 31536000 AND serial < (SELECT min(serial) FROM capsules) + 500"),
        Expired("phone_verifications", "id_hash"),
        // A day later, as the outcomes. Until then they are read as failed.
        Expired("pending_phone_verifications", "id_hash", "expires_at <= ?1 - 86400"),
    ]

    /// Removes at most `limit` expired rows; returns how many went.
    func remove(at now: Timestamp, limit: Int, in db: SQLSession) throws -> Int {
        try db.run(
            "DELETE FROM \(table) WHERE \(key) IN (SELECT \(key) FROM \(table) WHERE \(condition) LIMIT ?2)",
            now, Int64(limit))
    }
}
