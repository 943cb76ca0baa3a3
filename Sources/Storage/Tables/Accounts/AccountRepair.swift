package import Primitives
package import StorageModel

/// What an administrator does to an account by hand: gives it another identity, or merges two accounts.
private enum AccountRepair {
    /// The identity that would be replaced: the user's only one, unless a fingerprint selects it.
    static func relinkable(
        _ user: UserID, to identity: Identity, replacing fingerprint: String?, in db: SQLSession
    ) throws -> Result<Identity, RelinkError> {
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
}

/// Why an account cannot get another identity.
package enum RelinkError: Error, Sendable, Hashable {
    case unknownUser
    /// The user has no identity of this fingerprint, or none at all.
    case unknownIdentity
    /// The user has several identities, and none is selected.
    case severalIdentities
    /// A user has the identity, or had it before a move.
    case identityTaken(UserID)
}

extension AuditEvent.Kind {
    /// An administrator gave an account another identity.
    package static let identityRelinked = AuditEvent.Kind("identity.relinked")
    /// An administrator put another account into this one.
    package static let userMerged = AuditEvent.Kind("user.merged")
}

extension SQLStore {
    /// Replaces an identity of a user with another one, and ends the user's sessions: some may be those of the former
    /// identity's present holder.
    /// - Parameter applies: False to change nothing, and to tell what would be replaced.
    /// - Returns: The identity that was replaced; it is forgotten.
    package func relink(
        _ user: UserID, to identity: Identity, replacing fingerprint: String?, at now: Timestamp,
        by actor: AuditEvent.Actor, reason: String?, applies: Bool = true
    ) async throws(StorageError) -> Result<Identity, RelinkError> {
        try await writes.submit { db in
            let result = try AccountRepair.relinkable(user, to: identity, replacing: fingerprint, in: db)
            guard applies, case .success(let former) = result else { return result }
            try IdentitiesTable.delete(former, in: db)
            try IdentitiesTable.insert(identity, of: user, at: now, in: db)
            let sessions = try SessionsTable.endAll(of: user, in: db)
            let event = AuditEvent(
                at: now, .identityRelinked, user: user, by: actor,
                details: AuditDetails { json in
                    json.add(from: former, to: identity)
                    json.add("sessions_ended", sessions)
                    json.add("reason", ifPresent: reason)
                })
            try AuditTable.insert(event, in: db)
            return result
        }
    }

    /// Gives a user the identities of another and what the profile lacks, and erases the other. The user's sessions
    /// stay; the other's end. False if either user is missing, or both are the same.
    package func merge(
        _ other: UserID, into user: UserID, at now: Timestamp, by actor: AuditEvent.Actor, reason: String?
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            guard other != user, let kept = try UsersTable.trackedUser(user, in: db),
                let gone = try UsersTable.user(other, in: db)
            else { return false }
            let identities = try IdentitiesTable.rows(of: other, in: db).count
            for table in ["identities", "identity_moves"] {
                try db.perform("UPDATE \(table) SET user_id = ? WHERE user_id = ?", user, other)
            }
            var filled = kept
            filled.fill(with: gone.profile)
            _ = try UsersTable.replace(kept, by: filled, in: db)
            let sessions = try SessionsTable.endAll(of: other, in: db)
            _ = try UsersTable.delete(other, in: db)
            let details = AuditDetails { json in
                json.add("from_user", other.number)
                json.add("to_user", user.number)
                json.add("identities", identities)
                json.add("sessions_ended", sessions)
                json.add("reason", ifPresent: reason)
            }
            for (subject, kind) in [(user, AuditEvent.Kind.userMerged), (other, .userMergedAway)] {
                try AuditTable.insert(AuditEvent(at: now, kind, user: subject, by: actor, details: details), in: db)
            }
            return true
        }
    }
}
