public import Primitives
public import StorageModel

/// What an operator does to an account by hand: gives it another identity, or puts two accounts together. To be run in
/// one transaction.
enum AccountRepair {
    /// Which identity would be replaced; the user's only one, unless its fingerprint says which.
    static func relinkable(
        _ user: UserID, to identity: Identity, replacing fingerprint: String?, in db: SQLSession
    ) throws -> Result<Identity, RelinkObstacle> {
        guard try UsersTable.user(user, in: db) != nil else { return .failure(.unknownUser) }
        let live = try IdentitiesTable.rows(of: user, in: db).filter { $0.movedBy == nil }.map(\.identity)
        let fitting = live.filter { fingerprint == nil || $0.fingerprint.hasPrefix(fingerprint ?? "") }
        guard let former = fitting.first else { return .failure(.unknownIdentity) }
        guard fitting.count == 1 else { return .failure(.severalIdentities) }
        switch try IdentitiesTable.status(of: identity, in: db) {
        case .unknown: return .success(former)
        case .live(let owner), .moved(let owner): return .failure(.identityTaken(owner))
        }
    }

    /// Has the user sign in with another identity in the place of one of theirs, and ends the user's sessions: some may be
    /// those of whoever has the former identity now. That one is forgotten.
    static func relink(
        _ user: UserID, to identity: Identity, replacing fingerprint: String?, at now: Timestamp,
        by actor: AuditEvent.Actor, reason: String?, in db: SQLSession
    ) throws -> Result<Identity, RelinkObstacle> {
        let result = try relinkable(user, to: identity, replacing: fingerprint, in: db)
        guard case .success(let former) = result else { return result }
        try IdentitiesTable.delete(former, in: db)
        try IdentitiesTable.insert(identity, of: user, at: now, in: db)
        let sessions = try SessionsTable.endAll(of: user, in: db)
        let event = AuditEvent(
            at: now, .identityRelinked, user: user, by: actor,
            details: AuditDetails { json in
                json.add("from_issuer", former.issuer)
                json.add("from_identity", former.fingerprint)
                json.add("to_issuer", identity.issuer)
                json.add("to_identity", identity.fingerprint)
                json.add("sessions_ended", sessions)
                json.add("reason", ifPresent: reason)
            })
        try AuditTable.insert(event, in: db)
        return result
    }

    /// Gives a user the identities of another and what the profile lacks, and erases the other. The sessions of the user
    /// stay; those of the other end. False if either is not there, or both are one.
    static func merge(
        _ other: UserID, into user: UserID, at now: Timestamp, by actor: AuditEvent.Actor, reason: String?,
        in db: SQLSession
    ) throws -> Bool {
        guard other != user, let kept = try UsersTable.user(user, in: db),
            let gone = try UsersTable.user(other, in: db)
        else { return false }
        let identities = try IdentitiesTable.rows(of: other, in: db).count
        for table in ["identities", "identity_moves"] {
            var statement = try CachedStatement(db, "UPDATE \(table) SET user_id = ? WHERE user_id = ?")
            statement.bind(user.number)
            statement.bind(other.number)
            try statement.run()
        }
        _ = try UsersTable.fill(kept, with: gone.profile, in: db)
        let sessions = try SessionsTable.endAll(of: other, in: db)
        _ = try UsersTable.delete(other, in: db)
        for (subject, kind) in [(user, AuditEvent.Kind.userMerged), (other, .userMergedAway)] {
            let event = AuditEvent(
                at: now, kind, user: subject, by: actor,
                details: AuditDetails { json in
                    json.add("from_user", other.number)
                    json.add("to_user", user.number)
                    json.add("identities", identities)
                    json.add("sessions_ended", sessions)
                    json.add("reason", ifPresent: reason)
                })
            try AuditTable.insert(event, in: db)
        }
        return true
    }
}

/// Why an account cannot get another identity.
public enum RelinkObstacle: Error, Sendable, Hashable {
    case unknownUser
    /// The user has no identity of this fingerprint, or none at all.
    case unknownIdentity
    /// It is not said which of several is to be replaced.
    case severalIdentities
    /// It is a user's already, or was before it moved.
    case identityTaken(UserID)
}

extension IdentitiesTable {
    /// Adds an identity that is nobody's.
    static func insert(_ identity: Identity, of user: UserID, at now: Timestamp, in db: SQLSession) throws {
        var statement = try CachedStatement(
            db, "INSERT INTO identities (issuer, subject, user_id, created_at) VALUES (?, ?, ?, ?)")
        statement.bind(identity.issuer)
        statement.bind(identity.subject)
        statement.bind(user.number)
        statement.bind(now.secondsSinceEpoch)
        try statement.run()
    }
}

extension AuditEvent.Kind {
    /// An operator gave an account another identity.
    public static let identityRelinked = AuditEvent.Kind("identity.relinked")
    /// An operator put another account into this one.
    public static let userMerged = AuditEvent.Kind("user.merged")
    /// An operator put this account into another one, and erased it.
    public static let userMergedAway = AuditEvent.Kind("user.merged_away")
}

extension SQLStore {
    /// Which identity ``relink(_:to:replacing:at:by:reason:)`` would replace. Changes nothing.
    public func relinkable(
        _ user: UserID, to identity: Identity, replacing fingerprint: String?
    ) async throws(StorageError) -> Result<Identity, RelinkObstacle> {
        try await reads.submit { db in
            try AccountRepair.relinkable(user, to: identity, replacing: fingerprint, in: db)
        }
    }

    /// Has a user sign in with another identity in the place of one of theirs, and ends the user's sessions.
    /// - Returns: The identity that was replaced.
    public func relink(
        _ user: UserID, to identity: Identity, replacing fingerprint: String?, at now: Timestamp,
        by actor: AuditEvent.Actor, reason: String?
    ) async throws(StorageError) -> Result<Identity, RelinkObstacle> {
        try await writes.submit { db in
            try AccountRepair.relink(
                user, to: identity, replacing: fingerprint, at: now, by: actor, reason: reason, in: db)
        }
    }

    /// Puts an account into another and erases it. False if either is not there, or both are one.
    public func merge(
        _ other: UserID, into user: UserID, at now: Timestamp, by actor: AuditEvent.Actor, reason: String?
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            try AccountRepair.merge(other, into: user, at: now, by: actor, reason: reason, in: db)
        }
    }
}
