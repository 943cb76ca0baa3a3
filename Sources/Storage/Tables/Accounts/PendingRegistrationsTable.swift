import Primitives
import StorageModel

/// The table `pending_registrations`.
enum PendingRegistrationsTable {
    static func insert(_ registration: PendingRegistration, in db: SQLSession) throws {
        var statement = try CachedStatement(db, insert)
        statement.bind(registration.handle)
        statement.bind(registration.identity.issuer)
        statement.bind(registration.identity.subject)
        statement.bind(registration.clientID)
        statement.bind(registration.profile)
        statement.bind(registration.expiresAt.secondsSinceEpoch)
        statement.bind(blob: registration.providerSession?.bytes)
        try statement.run()
    }

    static func registration(
        _ handle: TokenHash, at now: Timestamp, in db: SQLSession
    ) throws -> PendingRegistration? {
        var query = try CachedStatement(db, select)
        query.bind(handle)
        query.bind(now.secondsSinceEpoch)
        guard try query.next() else { return nil }
        let identity = Identity(issuer: try query.requiredText(0), subject: try query.requiredText(1))
        var registration = PendingRegistration(
            handle: handle, identity: identity, clientID: try query.requiredText(2), profile: query.profile(from: 3),
            expiresAt: Timestamp(secondsSinceEpoch: query.number(10)))
        registration.providerSession = ProviderSessionHash(stored: query.blob(11))
        return registration
    }

    static func delete(_ handle: TokenHash, in db: SQLSession) throws {
        var statement = try CachedStatement(db, "DELETE FROM pending_registrations WHERE handle_hash = ?")
        statement.bind(handle)
        try statement.run()
    }

    /// Those of an identity.
    static func delete(of identity: Identity, in db: SQLSession) throws {
        var statement = try CachedStatement(
            db, "DELETE FROM pending_registrations WHERE issuer = ? AND subject = ?")
        statement.bind(identity.issuer)
        statement.bind(identity.subject)
        try statement.run()
    }

    /// Those of a session at a provider; with an identity, of that identity only. There are few of any one issuer.
    static func delete(signedInBy session: ProviderSession, of identity: Identity?, in db: SQLSession) throws {
        var statement = try CachedStatement(
            db,
            """
            DELETE FROM pending_registrations WHERE issuer = ? AND provider_session_hash = ? AND (? = 1 OR subject = ?)
            """)
        statement.bind(session.issuer)
        statement.bind(blob: OriginHash.of(session))
        statement.bind(identity == nil ? 1 : 0)
        statement.bind(identity?.subject ?? "")
        try statement.run()
    }

    private static let columns =
        (["issuer", "subject", "client_id"] + UserAttribute.columns + ["expires_at", "provider_session_hash"])
        .joined(separator: ", ")
    private static let insert = """
        INSERT INTO pending_registrations (handle_hash, \(columns)) \
        VALUES (?, ?, ?, ?, \(UserAttribute.columns.map { _ in "?" }.joined(separator: ", ")), ?, ?)
        """
    private static let select = """
        SELECT \(columns) FROM pending_registrations WHERE handle_hash = ? AND expires_at > ?
        """
}
