import Primitives
import SignIn
import Storage
import StorageModel

/// A verification: whether a number belongs to a signed-in user's device, by the mobile operator.
///
/// One that a browser was sent away for ends when its session confirms it. What the browser brought back takes no
/// effect before: any browser can be the one that comes back, also another person's.
struct PhoneVerification: Sendable, Hashable {
    /// The raw value is also the API's and the database's.
    enum Status: String, Sendable, Hashable, CaseIterable {
        /// It waits for its confirmation.
        case pending
        /// The number belongs to the device.
        case verified
        /// The device has another number.
        case mismatch
        /// The operator did not tell, or its answer is not believed.
        case failed
    }

    /// The SHA-256 of the id that the session's app has.
    let id: TokenHash
    let user: UserID
    /// The id of the session that asked. No other one can confirm it, or gets the outcome.
    let session: String
    /// Nil if the operator shall tell the number, and has not.
    var phoneNumber: String?
    /// The operator's name in the configuration.
    let operatorName: String
    var status = Status.pending
    /// Whether the SIM was changed; nil if that is not known.
    var simSwapped: Bool?
    /// The code of a failure.
    var error: String?
    /// When it was checked; while it is pending, when it ends without a confirmation.
    var time: Timestamp

    /// The number that the user has by it.
    var confirmedNumber: String? { status == .verified ? phoneNumber : nil }

    /// How long the outcome can be read, in seconds.
    static let retention: Int64 = 86_400
    /// How many wrong confirmations end a verification.
    static let mostWrongConfirmations: Int64 = 3
    /// How long an app has to present its confirmation, in seconds.
    static let confirmationTime: Int64 = 120

    func ended(
        _ status: Status, phoneNumber: String?, simSwapped: Bool?, error: String? = nil, at time: Timestamp
    ) -> PhoneVerification {
        PhoneVerification(
            id: id, user: user, session: session, phoneNumber: phoneNumber, operatorName: operatorName,
            status: status, simSwapped: simSwapped, error: error, time: time)
    }

    func failed(_ error: String, simSwapped: Bool? = nil, at time: Timestamp) -> PhoneVerification {
        ended(.failed, phoneNumber: phoneNumber, simSwapped: simSwapped, error: error, at: time)
    }
}

extension AuditEvent.Kind {
    /// A mobile operator confirmed the number of a signed-in user.
    static let phoneNumberVerified = AuditEvent.Kind("phone_number.verified")
}

/// The table `phone_verifications`.
private enum PhoneVerificationsTable {
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
                    time: row.time(6))
            }
        }
        return found ?? nil
    }

    /// Stores an outcome, and what follows from it. For writes with the locks of the user and of the confirmed number.
    /// - Returns: The other users who had the number as verified; nil if the session has ended, and then nothing was
    ///   stored.
    static func add(
        _ verification: PhoneVerification, by issuer: String, at now: Timestamp, requestID: String?, in db: SQLSession
    ) throws -> [UserID]? {
        assert(verification.status != .pending, "an outcome is of a verification that has ended")
        let user = verification.user
        guard try SessionsTable.holds(verification.session, of: user, in: db),
            let found = try UsersTable.trackedUser(user, in: db)
        else { return nil }
        try db.perform(
            """
            INSERT INTO phone_verifications (id_hash, user_id, session_id, phone_number, operator, status, \
            sim_swapped, error, checked_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, verification.id, user, verification.session, verification.phoneNumber ?? "",
            verification.operatorName, verification.status.rawValue,
            verification.simSwapped.map { $0 ? Int64(1) : 0 }, verification.error, verification.time,
            verification.time.advanced(bySeconds: PhoneVerification.retention))
        guard let number = verification.confirmedNumber else { return [] }
        var verified = found
        verified.confirm(phoneNumber: number, by: issuer, at: verification.time)
        _ = try UsersTable.replace(found, by: verified, in: db)
        try AuditTable.insert(
            AuditEvent(
                at: now, .phoneNumberVerified, user: user, by: .user, requestID: requestID,
                details: AuditDetails { $0.add("issuer", issuer) }), in: db)
        return try ReassignedNumber.endVerifications(
            of: number, nowOf: user, nil, at: now, requestID: requestID, in: db)
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
        let number = verification.confirmedNumber
        let locks = [.user(verification.user)] + (number.map { [WriteLock.phoneNumber($0)] } ?? [])
        return try await writes.submit(locking: locks) { db in
            // One by a digital credential has waited for the phone.
            try PendingPhoneVerificationsTable.delete(verification.id, in: db)
            return try PhoneVerificationsTable.add(
                verification, by: issuer, at: verification.time, requestID: requestID, in: db)
        }
    }

    /// A verification, for the session that asked; nil if it is unknown, another session's, or too old. One that was
    /// not confirmed in time has failed.
    func phoneVerification(
        _ id: TokenHash, in session: String, at now: Timestamp
    ) async throws(StorageError) -> PhoneVerification? {
        try await reads.submit { db in
            if let ended = try PhoneVerificationsTable.verification(id, in: session, at: now, in: db) { return ended }
            guard let pending = try PendingPhoneVerificationsTable.row(id, in: db)?.pending,
                pending.session == session, now < pending.time.advanced(bySeconds: PhoneVerification.retention)
            else { return nil }
            return now < pending.time ? pending : pending.failed(SignInError.Code.expired.rawValue, at: pending.time)
        }
    }
}

/// The table `pending_phone_verifications`: those that wait for a browser, or for the confirmation of what it brought.
private enum PendingPhoneVerificationsTable {
    struct Row {
        let pending: PhoneVerification
        let wrongConfirmations: Int64
        /// What the browser brought, of an operator of this issuer, until the session confirms it. Nil until the
        /// browser is back.
        let finding: (outcome: PhoneVerification, issuer: String, confirmation: TokenHash)?

        init(_ id: TokenHash, _ row: borrowing CachedStatement) throws {
            pending = PhoneVerification(
                id: id, user: row.user(0), session: try row.text(1), phoneNumber: row.optionalText(2),
                operatorName: try row.text(3), time: row.time(4))
            wrongConfirmations = row.number(5)
            guard let status = row.optionalText(6).flatMap(PhoneVerification.Status.init(rawValue:)),
                let checkedAt = row.optionalTime(10), let issuer = row.optionalText(11),
                let confirmation = row.optionalHash(12)
            else {
                finding = nil
                return
            }
            finding = (
                outcome: pending.ended(
                    status, phoneNumber: row.optionalText(7), simSwapped: row.optionalNumber(8).map { $0 != 0 },
                    error: row.optionalText(9), at: checkedAt),
                issuer: issuer, confirmation: confirmation
            )
        }
    }

    static func row(_ id: TokenHash, in db: SQLSession) throws -> Row? {
        try db.first(select, id) { try Row(id, $0) }
    }

    /// The row for a write that changes it.
    static func lockedRow(_ id: TokenHash, in db: SQLSession) throws -> Row? {
        try db.first(db.locking(select), id) { try Row(id, $0) }
    }

    private static let select: SQL = """
        SELECT user_id, session_id, phone_number, operator, expires_at, wrong_confirmations, status, \
        found_number, sim_swapped, error, checked_at, issuer, confirmation_hash FROM pending_phone_verifications \
        WHERE id_hash = ?
        """

    /// One that waits for its browser, while its session lives.
    static func waiting(_ row: Row?, at now: Timestamp, in db: SQLSession) throws -> PhoneVerification? {
        guard let row, row.finding == nil, now < row.pending.time,
            try SessionsTable.holds(row.pending.session, of: row.pending.user, in: db)
        else { return nil }
        return row.pending
    }

    static func delete(_ id: TokenHash, in db: SQLSession) throws {
        try db.perform("DELETE FROM pending_phone_verifications WHERE id_hash = ?", id)
    }

    /// Counts a wrong confirmation. The last one that is allowed ends the verification.
    static func countWrong(
        _ row: Row, at now: Timestamp, in db: SQLSession
    ) throws {
        guard row.wrongConfirmations + 1 >= PhoneVerification.mostWrongConfirmations else {
            return try db.perform(
                """
                UPDATE pending_phone_verifications SET wrong_confirmations = wrong_confirmations + 1 WHERE id_hash = ?
                """, row.pending.id)
        }
        try delete(row.pending.id, in: db)
        _ = try PhoneVerificationsTable.add(
            row.pending.failed(SignInError.Code.invalidGrant.rawValue, at: now), by: "", at: now, requestID: nil, in: db
        )
    }
}

extension SQLStore {
    /// Stores a verification that a browser is sent away for.
    /// - Returns: False if the session has ended meanwhile, and then nothing was stored.
    func beginPhoneVerification(_ pending: PhoneVerification) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            guard try SessionsTable.holds(pending.session, of: pending.user, in: db) else { return false }
            try db.perform(
                """
                INSERT INTO pending_phone_verifications (id_hash, user_id, session_id, phone_number, operator, \
                expires_at, wrong_confirmations) VALUES (?, ?, ?, ?, ?, ?, ?)
                """, pending.id, pending.user, pending.session, pending.phoneNumber, pending.operatorName,
                pending.time, Int64(0))
            return true
        }
    }

    /// A verification that waits for its browser; nil if it is unknown or too old, if its browser was back before, or
    /// if its session has ended.
    func pendingPhoneVerification(
        _ id: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> PhoneVerification? {
        try await reads.submit { db in
            typealias Table = PendingPhoneVerificationsTable
            return try Table.waiting(Table.row(id, in: db), at: now, in: db)
        }
    }

    /// Stores what the browser of a verification brought back, under the conditions of
    /// ``pendingPhoneVerification(_:at:)``. It changes no user.
    /// - Parameters:
    ///   - issuer: The operator's.
    ///   - confirmation: The SHA-256 of what the session has to present.
    ///   - end: When it can no longer be confirmed.
    /// - Returns: False if a condition is not met, and then nothing was stored.
    func addPhoneVerificationFinding(
        _ outcome: PhoneVerification, by issuer: String, confirmation: TokenHash, until end: Timestamp,
        at now: Timestamp
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            typealias Table = PendingPhoneVerificationsTable
            guard try Table.waiting(Table.lockedRow(outcome.id, in: db), at: now, in: db) != nil else { return false }
            try db.perform(
                """
                UPDATE pending_phone_verifications SET status = ?, found_number = ?, sim_swapped = ?, error = ?, \
                checked_at = ?, issuer = ?, confirmation_hash = ?, expires_at = ? WHERE id_hash = ?
                """, outcome.status.rawValue, outcome.phoneNumber, outcome.simSwapped.map { $0 ? Int64(1) : 0 },
                outcome.error, outcome.time, issuer, confirmation, end, outcome.id)
            return true
        }
    }

    /// Ends a verification of a session with what the browser brought back, as
    /// ``addPhoneVerification(_:by:requestID:)`` does. A wrong confirmation is counted, and the last one that is
    /// allowed ends the verification as failed.
    /// - Returns: The outcome, which is in effect, and the users who had the number as verified before; or why there is
    ///   none.
    func confirmPhoneVerification(
        _ id: TokenHash, of user: UserID, in session: String, with confirmation: TokenHash, at now: Timestamp,
        requestID: String?
    ) async throws(StorageError) -> Result<(outcome: PhoneVerification, formerHolders: [UserID]), SignInError> {
        try await writes.submit(locking: [.user(user)]) { db in
            guard let row = try PendingPhoneVerificationsTable.lockedRow(id, in: db), row.pending.session == session
            else {
                let ended = try PhoneVerificationsTable.verification(id, in: session, at: now, in: db)
                return .failure(ended == nil ? .noSuchVerification : .verificationEnded)
            }
            guard now < row.pending.time else { return .failure(.verificationEnded) }
            guard let finding = row.finding, finding.confirmation == confirmation else {
                try PendingPhoneVerificationsTable.countWrong(row, at: now, in: db)
                return .failure(.confirmationWrong)
            }
            try PendingPhoneVerificationsTable.delete(id, in: db)
            if let number = finding.outcome.confirmedNumber { try db.lock([.phoneNumber(number)]) }
            let formerHolders = try PhoneVerificationsTable.add(
                finding.outcome, by: finding.issuer, at: now, requestID: requestID, in: db)
            return formerHolders.map { .success((finding.outcome, $0)) } ?? .failure(.noSuchVerification)
        }
    }
}
