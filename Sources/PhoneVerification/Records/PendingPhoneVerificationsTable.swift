import Primitives
import Storage
import StorageModel

/// The table `pending_phone_verifications`: those that wait for a browser, or for the confirmation of what it brought.
enum PendingPhoneVerificationsTable {
    fileprivate struct Row {
        let pending: PendingPhoneVerification
        let wrongConfirmations: Int64
        /// Nil until the browser is back.
        let finding: PhoneVerificationFinding?

        init(_ id: TokenHash, _ row: borrowing CachedStatement) throws {
            pending = PendingPhoneVerification(
                id: id, user: row.user(0), session: try row.text(1), phoneNumber: row.optionalText(2),
                operatorName: try row.text(3), expiresAt: row.time(4))
            wrongConfirmations = row.number(5)
            guard let status = row.optionalText(6).flatMap(PhoneVerification.Status.init(rawValue:)),
                let checkedAt = row.optionalTime(10), let issuer = row.optionalText(11),
                let confirmation = row.optionalHash(12)
            else {
                finding = nil
                return
            }
            finding = PhoneVerificationFinding(
                outcome: pending.ended(
                    status, phoneNumber: row.optionalText(7), simSwapped: row.optionalNumber(8).map { $0 != 0 },
                    error: row.optionalText(9), at: checkedAt),
                issuer: issuer, confirmation: confirmation, expiresAt: pending.expiresAt)
        }
    }

    fileprivate static func row(_ id: TokenHash, in db: SQLSession) throws -> Row? {
        try db.first(
            """
            SELECT user_id, session_id, phone_number, operator, expires_at, wrong_confirmations, status, \
            found_number, sim_swapped, error, checked_at, issuer, confirmation_hash FROM pending_phone_verifications \
            WHERE id_hash = ?
            """, id
        ) { try Row(id, $0) }
    }

    /// One that waits for its browser, while its session lives.
    fileprivate static func waiting(
        _ id: TokenHash, at now: Timestamp, in db: SQLSession
    ) throws -> PendingPhoneVerification? {
        guard let row = try row(id, in: db), row.finding == nil, now < row.pending.expiresAt,
            try SessionsTable.holds(row.pending.session, of: row.pending.user, in: db)
        else { return nil }
        return row.pending
    }

    /// Of a session; nil if there is none.
    static func state(
        _ id: TokenHash, in session: String, expiredAs error: String, at now: Timestamp, in db: SQLSession
    ) throws -> PhoneVerificationState? {
        guard let pending = try row(id, in: db)?.pending, pending.session == session,
            now < pending.expiresAt.advanced(bySeconds: PhoneVerification.retention)
        else { return nil }
        return now < pending.expiresAt ? .pending(pending) : .ended(pending.failed(error, at: pending.expiresAt))
    }

    fileprivate static func delete(_ id: TokenHash, in db: SQLSession) throws {
        try db.perform("DELETE FROM pending_phone_verifications WHERE id_hash = ?", id)
    }
}

extension SQLStore {
    /// Stores a verification that a browser is sent away for.
    /// - Returns: False if the session has ended meanwhile, and then nothing was stored.
    func beginPhoneVerification(
        _ pending: PendingPhoneVerification
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            guard try SessionsTable.holds(pending.session, of: pending.user, in: db) else { return false }
            try db.perform(
                """
                INSERT INTO pending_phone_verifications (id_hash, user_id, session_id, phone_number, operator, \
                expires_at, wrong_confirmations) VALUES (?, ?, ?, ?, ?, ?, ?)
                """, pending.id, pending.user, pending.session, pending.phoneNumber, pending.operatorName,
                pending.expiresAt, Int64(0))
            return true
        }
    }

    /// A verification that waits for its browser; nil if it is unknown or too old, if its browser was back before, or
    /// if its session has ended.
    func pendingPhoneVerification(
        _ id: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> PendingPhoneVerification? {
        try await reads.submit { db in try PendingPhoneVerificationsTable.waiting(id, at: now, in: db) }
    }

    /// Stores what the browser of a verification brought back, under the conditions of
    /// ``pendingPhoneVerification(_:at:)``. It changes no user.
    /// - Returns: False if a condition is not met, and then nothing was stored.
    func addPhoneVerificationFinding(
        _ finding: PhoneVerificationFinding, at now: Timestamp
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            let outcome = finding.outcome
            guard try PendingPhoneVerificationsTable.waiting(outcome.id, at: now, in: db) != nil else { return false }
            try db.perform(
                """
                UPDATE pending_phone_verifications SET status = ?, found_number = ?, sim_swapped = ?, error = ?, \
                checked_at = ?, issuer = ?, confirmation_hash = ?, expires_at = ? WHERE id_hash = ?
                """, outcome.status.rawValue, outcome.phoneNumber, outcome.simSwapped.map { $0 ? Int64(1) : 0 },
                outcome.error, outcome.checkedAt, finding.issuer, finding.confirmation, finding.expiresAt, outcome.id)
            return true
        }
    }

    /// Ends a verification of a session with what the browser brought back, as
    /// ``addPhoneVerification(_:by:requestID:)`` does. A wrong confirmation is counted, and the last one that is
    /// allowed ends the verification as failed.
    /// - Parameter error: The code of that failure.
    func confirmPhoneVerification(
        _ id: TokenHash, in session: String, with confirmation: TokenHash, orFailWith error: String, at now: Timestamp,
        requestID: String?
    ) async throws(StorageError) -> PhoneVerificationConfirmation {
        try await writes.submit { db in
            guard let row = try PendingPhoneVerificationsTable.row(id, in: db), row.pending.session == session else {
                return try PhoneVerificationsTable.verification(id, in: session, at: now, in: db) == nil
                    ? .unknown : .ended
            }
            guard now < row.pending.expiresAt else { return .ended }
            guard let finding = row.finding, finding.confirmation == confirmation else {
                try PendingPhoneVerificationsTable.countWrong(row, orFailWith: error, at: now, in: db)
                return .wrong
            }
            try PendingPhoneVerificationsTable.delete(id, in: db)
            let formerHolders = try PhoneVerificationsTable.add(
                finding.outcome, by: finding.issuer, at: now, requestID: requestID, in: db)
            return formerHolders.map { .confirmed(finding.outcome, formerHolders: $0) } ?? .unknown
        }
    }
}

extension PendingPhoneVerificationsTable {
    /// Counts a wrong confirmation. The last one that is allowed ends the verification.
    fileprivate static func countWrong(
        _ row: Row, orFailWith error: String, at now: Timestamp, in db: SQLSession
    ) throws {
        guard row.wrongConfirmations + 1 >= PendingPhoneVerification.mostWrongConfirmations else {
            return try db.perform(
                """
                UPDATE pending_phone_verifications SET wrong_confirmations = wrong_confirmations + 1 WHERE id_hash = ?
                """, row.pending.id)
        }
        try delete(row.pending.id, in: db)
        _ = try PhoneVerificationsTable.add(
            row.pending.failed(error, at: now), by: "", at: now, requestID: nil, in: db)
    }
}
