import Primitives
import Storage
import StorageModel

/// The table `phone_verifications`.
enum PhoneVerificationsTable {
    static func verification(
        _ id: TokenHash, in session: String, at now: Timestamp, in db: SQLSession
    ) throws -> PhoneVerification? {
        let found = try db.first(
            """
            SELECT user_id, phone_number, operator, status, sim_swapped, error, checked_at FROM phone_verifications \
            WHERE id_hash = ? AND session_id = ? AND expires_at > ?
            """, id, session, now
        ) { row in
            PhoneVerification.Status(rawValue: try row.text(3)).map { status in
                PhoneVerification(
                    id: id, user: row.user(0), session: session,
                    phoneNumber: row.optionalText(1).flatMap { $0.isEmpty ? nil : $0 },
                    operatorName: (try? row.text(2)) ?? "", status: status,
                    simSwapped: row.optionalNumber(4).map { $0 != 0 }, error: row.optionalText(5),
                    checkedAt: row.time(6))
            }
        }
        return found ?? nil
    }

    /// Stores an outcome, and what follows from it.
    /// - Returns: The other users who had the number as verified; nil if the session has ended, and then nothing was
    ///   stored.
    static func add(
        _ verification: PhoneVerification, by issuer: String, at now: Timestamp, requestID: String?, in db: SQLSession
    ) throws -> [UserID]? {
        let user = verification.user
        guard try SessionsTable.holds(verification.session, of: user, in: db),
            let found = try UsersTable.trackedUser(user, in: db)
        else { return nil }
        try insert(verification, in: db)
        guard verification.status == .verified, let number = verification.phoneNumber else { return [] }
        var verified = found
        verified.confirm(phoneNumber: number, by: issuer, at: verification.checkedAt)
        _ = try UsersTable.replace(found, by: verified, in: db)
        try AuditTable.insert(
            AuditEvent(
                at: now, .phoneNumberVerified, user: user, by: .user, requestID: requestID,
                details: AuditDetails { $0.add("issuer", issuer) }), in: db)
        return try ReassignedNumber.endVerifications(
            of: number, nowOf: user, nil, at: now, requestID: requestID, in: db)
    }

    private static func insert(_ verification: PhoneVerification, in db: SQLSession) throws {
        try db.perform(
            """
            INSERT INTO phone_verifications (id_hash, user_id, session_id, phone_number, operator, status, \
            sim_swapped, error, checked_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, verification.id, verification.user, verification.session, verification.phoneNumber ?? "",
            verification.operatorName, verification.status.rawValue,
            verification.simSwapped.map { $0 ? Int64(1) : 0 }, verification.error, verification.checkedAt,
            verification.checkedAt.advanced(bySeconds: PhoneVerification.retention))
    }
}

extension SQLStore {
    /// Stores an outcome. A confirmed number becomes the user's own, verified by the issuer, and no other user keeps it
    /// as verified; any other outcome changes no user.
    /// - Returns: The other users who had the number as verified; nil if the session has ended meanwhile, and then
    ///   nothing was stored.
    func addPhoneVerification(
        _ verification: PhoneVerification, by issuer: String, requestID: String?
    ) async throws(StorageError) -> [UserID]? {
        try await writes.submit { db in
            try PhoneVerificationsTable.add(
                verification, by: issuer, at: verification.checkedAt, requestID: requestID, in: db)
        }
    }

    /// A verification, for the session that asked; nil if it is unknown, another session's, or too old. One that was
    /// not confirmed in time has failed.
    /// - Parameter error: The code of that failure.
    func phoneVerification(
        _ id: TokenHash, in session: String, expiredAs error: String, at now: Timestamp
    ) async throws(StorageError) -> PhoneVerificationState? {
        try await reads.submit { db in
            if let ended = try PhoneVerificationsTable.verification(id, in: session, at: now, in: db) {
                return .ended(ended)
            }
            return try PendingPhoneVerificationsTable.state(id, in: session, expiredAs: error, at: now, in: db)
        }
    }
}
