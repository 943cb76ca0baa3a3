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
        let (table, key, condition) = removal
        return try db.run(
            "DELETE FROM \(table) WHERE \(key) IN (SELECT \(key) FROM \(table) WHERE \(condition) LIMIT ?2)",
            now, Int64(limit))
    }

    private var removal: (table: StaticString, key: StaticString, condition: StaticString) {
        switch self {
        // A session stays until its refresh token has expired too.
        case .sessions: ("sessions", "serial", "refresh_expires_at <= ?1 AND expires_at <= ?1")
        case .pendingRegistrations: ("pending_registrations", "handle_hash", "expires_at <= ?1")
        case .issuedNonces: ("sign_in_attempts", "nonce_hash", "expires_at <= ?1")
        case .rotations: ("last_rotations", "session", "grace_ends_at <= ?1")
        case .oneTimeRecords: ("sealed_notes", "handle_hash", "expires_at <= ?1")
        // A day later, so that the code of the receipt is known as used for longer than any carrier takes it.
        case .receipts: ("receipts", "receipt_hash", "expires_at <= ?1 - 86400")
        case .backchannelAuthentications: ("async_sign_ins", "handle_hash", "removed_at <= ?1")
        // Only tokens that cannot be refreshed have an expiry.
        case .providerTokens: ("provider_tokens", "serial", "expires_at <= ?1")
        case .logoutTokens: ("logout_tokens", "token_hash", "expires_at <= ?1")
        // In milliseconds.
        case .accountChanges: ("account_changes", "user_id", "whole_at <= ?1 * 1000")
        case .recentSignIns: ("recent_sign_ins", "fingerprint", "expires_at <= ?1")
        }
    }
}
