import Primitives
import Storage
import StorageModel

/// Why a move cannot be undone.
enum UndoError: Error, Sendable, Hashable {
    /// The user has no move of this number.
    case unknown
    case alreadyUndone
    /// A later move has moved the account on, or the identity it moved to was removed.
    case superseded
}

/// Why an account cannot get another identity.
enum RelinkError: Error, Sendable, Hashable {
    case unknownUser
    /// The user has no identity of this fingerprint, or none at all.
    case unknownIdentity
    /// The user has several identities, and none is selected.
    case severalIdentities
    /// A user has the identity, or had it before a move.
    case identityTaken(UserID)
}

extension AuditEvent.Kind {
    /// An administrator undid a move of an account.
    static let identityMoveUndone = AuditEvent.Kind("identity.move_undone")
    /// An administrator gave an account another identity.
    static let identityRelinked = AuditEvent.Kind("identity.relinked")
    /// An administrator put another account into this one.
    static let userMerged = AuditEvent.Kind("user.merged")
}

/// A move that can be undone, and its identities.
struct UndoableMove: Sendable, Hashable {
    let move: IdentityMove
    /// The identity that gets the account back.
    let former: Identity
    /// The identity that loses the account.
    let present: Identity
}

extension SQLStore {
    /// Gives the account back to the identity that it was moved from, and ends the user's sessions: some may belong to
    /// the holder of the identity that it was moved to by mistake.
    ///
    /// The identity that the account was moved to is forgotten, and makes a new user when it signs in again. If the
    /// account had been moved away from it before, it gets that status back.
    /// - Parameter applies: False to change nothing, and to tell what would be undone.
    func undoMove(
        _ number: Int64, of user: UserID, at now: Timestamp, by actor: AuditEvent.Actor, reason: String?,
        applies: Bool = true
    ) async throws(StorageError) -> Result<UndoableMove, UndoError> {
        try await writes.submit(locking: [.user(user)]) { db in
            let result = try Self.undoable(number, of: user, in: db)
            guard applies, case .success(let undoable) = result,
                let former = try IdentitiesTable.row(undoable.former, in: db)
            else { return result }
            if let departure = undoable.move.earlierDeparture {
                try IdentitiesTable.update(
                    undoable.present, movedBy: departure, arrivedBy: undoable.move.earlierArrival, restoredAt: nil,
                    in: db)
            } else {
                try IdentitiesTable.delete(undoable.present, in: db)
            }
            try IdentitiesTable.update(
                undoable.former, movedBy: nil, arrivedBy: former.arrivedBy, restoredAt: now, in: db)
            try IdentityMovesTable.setUndone(number, at: now, in: db)
            let sessions = try SessionsTable.endAll(of: user, in: db)
            try AuditTable.insert(Self.event(undoable, sessions, now, actor, reason), in: db)
            return result
        }
    }

    /// The effect of undoing a move of a user.
    private static func undoable(
        _ number: Int64, of user: UserID, in db: SQLSession
    ) throws -> Result<UndoableMove, UndoError> {
        guard let move = try IdentityMovesTable.move(number, in: db), move.user == user else {
            return .failure(.unknown)
        }
        guard move.undoneAt == nil else { return .failure(.alreadyUndone) }
        let identities = try IdentitiesTable.rows(of: user, in: db)
        guard let former = identities.first(where: { $0.movedBy == number }),
            let present = identities.first(where: { $0.arrivedBy == number && $0.movedBy == nil })
        else { return .failure(.superseded) }
        return .success(UndoableMove(move: move, former: former.identity, present: present.identity))
    }

    private static func event(
        _ undone: UndoableMove, _ sessions: Int, _ now: Timestamp, _ actor: AuditEvent.Actor, _ reason: String?
    ) -> AuditEvent {
        AuditEvent(
            at: now, .identityMoveUndone, user: undone.move.user, by: actor,
            details: AuditDetails { json in
                json.add("move", undone.move.number)
                json.add(from: undone.present, to: undone.former)
                json.add("sessions_ended", sessions)
                json.add("reason", ifPresent: reason)
            })
    }

    /// Replaces an identity of a user with another one, and ends the user's sessions: some may be those of the former
    /// identity's present holder.
    /// - Parameter applies: False to change nothing, and to tell what would be replaced.
    /// - Returns: The identity that was replaced; it is forgotten.
    func relink(
        _ user: UserID, to identity: Identity, replacing fingerprint: String?, at now: Timestamp,
        by actor: AuditEvent.Actor, reason: String?, applies: Bool = true
    ) async throws(StorageError) -> Result<Identity, RelinkError> {
        try await writes.submit(locking: [.user(user)]) { db in
            let result = try Self.relinkable(user, to: identity, replacing: fingerprint, in: db)
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
    func merge(
        _ other: UserID, into user: UserID, at now: Timestamp, by actor: AuditEvent.Actor, reason: String?
    ) async throws(StorageError) -> Bool {
        try await writes.submit(locking: [.user(other), .user(user)]) { db in
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

    /// The identity that would be replaced: the user's only one, unless a fingerprint selects it.
    private static func relinkable(
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
