package import Primitives
package import StorageModel

/// A phone number that a mobile network has given to somebody else.
package enum ReassignedNumber {
    /// Ends the verification of the number for everybody else, with an audit event for each user. For writes with the
    /// lock ``WriteLock/phoneNumber(_:)``: of two users who prove the number at once, the second finds the first.
    /// - Parameters:
    ///   - number: `+` and digits.
    ///   - user: Has it now; nil if no user has it.
    ///   - identity: Has it now, if the network named one.
    /// - Returns: The users that had it as verified.
    package static func endVerifications(
        of number: String, nowOf user: UserID?, _ identity: Identity?, at time: Timestamp, requestID: String?,
        in db: SQLSession
    ) throws -> [UserID] {
        // Registrations first: one that completes meanwhile is a user afterwards.
        let waiting = try db.all(waiting, number) { row in (try row.hash(0), try row.identity(from: 1)) }
        for (handle, waitingIdentity) in waiting where waitingIdentity != identity {
            try db.perform(
                "UPDATE pending_registrations SET phone_number_verified = NULL WHERE handle_hash = ?", handle)
        }
        // No user has the number 0.
        let holders = try db.all(db.locking(holders), number, user ?? UserID(0)) { $0.user(0) }
        for holder in holders {
            try db.perform(
                "UPDATE users SET phone_number_verified_at = NULL, phone_number_verified_by = NULL WHERE id = ?", holder
            )
            try AuditTable.insert(
                AuditEvent(at: time, .phoneNumberReassigned, user: holder, by: .latchkey, requestID: requestID), in: db)
        }
        return holders
    }

    // Providers write numbers with separators: OpenID Connect Core section 5.1 itself has +1 (425) 555-1212.
    private static let withoutSeparators = ["' '", "'-'", "'.'", "'('", "')'"].reduce("phone_number") {
        "replace(\($0), \($1), '')"
    }

    /// Selects those of users' rows that have a verified number, without its separators.
    package static func isVerified(_ number: String = "= ?") -> String {
        "\(withoutSeparators) \(number) AND phone_number_verified_at IS NOT NULL"
    }

    // Each sign-in by number runs both, and mostly finds nothing. An UPDATE with RETURNING would cost SQLite two
    // temporary tables nevertheless.
    static let holders = SQL.numbered("SELECT id FROM users WHERE \(isVerified()) AND id <> ?")

    static let waiting = SQL.numbered(
        """
        SELECT handle_hash, issuer, subject FROM pending_registrations \
        WHERE \(withoutSeparators) = ? AND phone_number_verified = 1
        """)

    // Without verified numbers they are empty, and cost a sign-in nothing.
    static let schema = """
        CREATE INDEX users_by_verified_phone_number ON users (\(withoutSeparators)) \
        WHERE phone_number_verified_at IS NOT NULL;
        CREATE INDEX pending_registrations_by_verified_phone_number ON pending_registrations (\(withoutSeparators)) \
        WHERE phone_number_verified = 1;
        """
}

extension AuditEvent.Kind {
    /// The phone number of a user became another identity's, and is no longer verified.
    package static let phoneNumberReassigned = AuditEvent.Kind("phone_number.reassigned")
}
