import Primitives
import SignIn
import Storage
import StorageModel

/// The table `pending_registrations`.
private enum PendingRegistrationsTable {
    /// - Parameter query: ``select``.
    static func registration(
        _ handle: TokenHash, at now: Timestamp, _ query: SQL = select, in db: SQLSession
    ) throws -> PendingRegistration? {
        try db.first(query, handle, now) { row in
            let next = 3 + UserAttribute.columnCount
            var registration = PendingRegistration(
                handle: handle, identity: try row.identity(from: 0), clientID: try row.text(2),
                profile: row.profile(from: 3), expiresAt: row.time(next))
            registration.providerSession = ProviderSessionHash(stored: row.blob(next + 1))
            registration.claims = row.optionalText(next + 2)
            for (number, attribute) in UserAttribute.verifiable.enumerated() {
                registration.verified[attribute] = row.optionalNumber(next + 3 + CInt(number)).map { $0 != 0 }
            }
            return registration
        }
    }

    private static let columns =
        ["issuer", "subject", "client_id"] + UserAttribute.columns
        + ["expires_at", "provider_session_hash", "provider_claims"]
        + UserAttribute.verifiable.map { "\($0.rawValue)_verified" }
    static let insert = SQL(
        """
        INSERT INTO pending_registrations (handle_hash, \(columns.joined(separator: ", "))) \
        VALUES (?, \(columns.map { _ in "?" }.joined(separator: ", ")))
        """)
    static let select = SQL(
        """
        SELECT \(columns.joined(separator: ", ")) FROM pending_registrations WHERE handle_hash = ? AND expires_at > ?
        """)
}

/// A column for each of ``UserAttribute/verifiable``.
private struct VerifiedColumns: SQLValue {
    let flags: VerifiedFlags

    func bind(to statement: inout CachedStatement) {
        for attribute in UserAttribute.verifiable {
            flags[attribute].map { $0 ? Int64(1) : 0 }.bind(to: &statement)
        }
    }
}

extension SQLStore {
    /// - Parameter proof: That the mobile network has proven a phone number to be the identity's: other users lose it
    ///   at once. The request's id is for the audit log.
    /// - Returns: The other users who had the number as verified.
    @discardableResult
    func addPendingRegistration(
        _ registration: PendingRegistration, proof: (number: String, time: Timestamp, requestID: String?)? = nil
    ) async throws(StorageError) -> [UserID] {
        try await writes.submit(locking: proof.map { [.phoneNumber($0.number)] } ?? []) { db in
            try db.perform(
                PendingRegistrationsTable.insert, registration.handle, registration.identity, registration.clientID,
                registration.profile, registration.expiresAt, registration.providerSession, registration.claims,
                VerifiedColumns(flags: registration.verified))
            guard let proof else { return [] }
            return try ReassignedNumber.endVerifications(
                of: proof.number, nowOf: nil, registration.identity, at: proof.time, requestID: proof.requestID, in: db)
        }
    }

    func pendingRegistration(
        _ handle: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> PendingRegistration? {
        try await reads.submit { db in try PendingRegistrationsTable.registration(handle, at: now, in: db) }
    }

    /// Completes a pending registration.
    /// - Parameters:
    ///   - tokens: The provider's tokens that wait with the registration, if there are any.
    ///   - claims: The provider's further claims, encrypted by the use case for the new user.
    ///   - refusesVerifiedEmail: Whether an e-mail address that a provider vouches for in another account is refused.
    ///   - answer: What the same request gets if it is sent again.
    /// - Returns: The user, or why there is none; nil for a handle that is unknown, used or expired.
    func register(
        handle: TokenHash, profile: Profile, session: NewSession, publicID: String,
        tokens: WaitingProviderTokens? = nil, claims: String? = nil, refusesVerifiedEmail: Bool = false,
        answer: OneTimeRecord? = nil, at now: Timestamp
    ) async throws(StorageError) -> Result<User, SignInError>? {
        // Of two registrations with one address, the second is refused.
        let email = refusesVerifiedEmail ? profile[.email] : nil
        let locks = email.map { [WriteLock.rule("e-mail address \($0.lowercasedASCII)")] } ?? []
        return try await writes.submit(locking: locks) { db in
            typealias Table = PendingRegistrationsTable
            let pending = try Table.registration(handle, at: now, db.locking(Table.select), in: db)
            guard let pending else { return nil }
            try db.perform("DELETE FROM pending_registrations WHERE handle_hash = ?", handle)
            let waiting = try tokens.flatMap {
                try OneTimeRecordsTable.take($0.handle, purpose: $0.purpose, at: now, in: db).flatMap($0.open)
            }
            // An identity that an account was moved away from cannot be registered either.
            guard try IdentitiesTable.status(of: pending.identity, in: db) == .unknown else {
                return .failure(.userAlreadyExists)
            }
            if let email, try UsersTable.hasVerified(email: email, in: db) {
                return .failure(.emailAlreadyExists)
            }
            let user = try UsersTable.insert(
                pending.identity, publicID: publicID, profile: profile, asserted: pending.profile, pending.verified,
                claims: claims, at: now, in: db)
            var session = session
            session.idToken = waiting?.idToken
            try SessionsTable.insert(
                session, for: user.id, by: pending.identity, pending.providerSession, isNewUser: true, in: db)
            if let tokens = waiting?.tokens {
                try ProviderTokensTable.put(tokens, of: pending.identity, user.id, at: now, in: db)
            }
            if let answer { _ = try OneTimeRecordsTable.insert(answer, in: db) }
            return .success(user)
        }
    }
}

/// A verified identity that waits for its user to register.
struct PendingRegistration: Sendable, Hashable {
    let handle: TokenHash
    let identity: Identity
    let clientID: String
    /// The provider's claims, to prefill the form.
    let profile: Profile
    var verified = VerifiedFlags()
    /// The provider's further claims, encrypted by the use case.
    var claims: String?
    let expiresAt: Timestamp
    /// The provider's session, if the ID token has a `sid`.
    var providerSession: ProviderSessionHash?
}
