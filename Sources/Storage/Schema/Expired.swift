import Primitives
import StorageModel

/// What expires, and how it is removed.
enum Expired: CaseIterable {
    case sessions
    case pendingRegistrations
    case issuedNonces
    case rotations
    case oneTimeRecords
    case receipts
    case backchannelAuthentications
    case providerTokens
    case logoutTokens
    case accountChanges
    case recentSignIns

    /// Removes at most `limit` expired rows; returns how many went.
    func remove(at now: Timestamp, limit: Int, in db: SQLSession) throws -> Int {
        var statement = try CachedStatement(db, removal)
        statement.bind(now.secondsSinceEpoch)
        statement.bind(Int64(limit))
        try statement.run()
        return db.changesCount
    }

    // A session is there until its refresh token has expired too.
    private var removal: String {
        switch self {
        case .sessions:
            """
            DELETE FROM sessions WHERE serial IN (SELECT serial FROM sessions \
            WHERE refresh_expires_at <= ?1 AND expires_at <= ?1 LIMIT ?2)
            """
        case .pendingRegistrations:
            """
            DELETE FROM pending_registrations WHERE handle_hash IN \
            (SELECT handle_hash FROM pending_registrations WHERE expires_at <= ?1 LIMIT ?2)
            """
        case .issuedNonces:
            """
            DELETE FROM sign_in_attempts WHERE nonce_hash IN \
            (SELECT nonce_hash FROM sign_in_attempts WHERE expires_at <= ?1 LIMIT ?2)
            """
        case .rotations:
            """
            DELETE FROM last_rotations WHERE session IN \
            (SELECT session FROM last_rotations WHERE grace_ends_at <= ?1 LIMIT ?2)
            """
        case .oneTimeRecords:
            """
            DELETE FROM sealed_notes WHERE handle_hash IN \
            (SELECT handle_hash FROM sealed_notes WHERE expires_at <= ?1 LIMIT ?2)
            """
        // A day later, so that the code it was given for is known as used for longer than any carrier takes it.
        case .receipts:
            """
            DELETE FROM receipts WHERE receipt_hash IN \
            (SELECT receipt_hash FROM receipts WHERE expires_at <= ?1 - 86400 LIMIT ?2)
            """
        case .backchannelAuthentications:
            """
            DELETE FROM async_sign_ins WHERE handle_hash IN \
            (SELECT handle_hash FROM async_sign_ins WHERE removed_at <= ?1 LIMIT ?2)
            """
        // Only those that cannot be refreshed have an end.
        case .providerTokens:
            """
            DELETE FROM provider_tokens WHERE serial IN \
            (SELECT serial FROM provider_tokens WHERE expires_at <= ?1 LIMIT ?2)
            """
        case .logoutTokens:
            """
            DELETE FROM logout_tokens WHERE token_hash IN \
            (SELECT token_hash FROM logout_tokens WHERE expires_at <= ?1 LIMIT ?2)
            """
        // In milliseconds.
        case .accountChanges:
            """
            DELETE FROM account_changes WHERE user_id IN \
            (SELECT user_id FROM account_changes WHERE whole_at <= ?1 * 1000 LIMIT ?2)
            """
        case .recentSignIns:
            """
            DELETE FROM recent_sign_ins WHERE fingerprint IN \
            (SELECT fingerprint FROM recent_sign_ins WHERE expires_at <= ?1 LIMIT ?2)
            """
        }
    }
}
