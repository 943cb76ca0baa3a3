package import Primitives
package import StorageModel

/// Moves a user's account from a former identity to the one that signs in, and undoes such a move. Runs in the
/// sign-in's transaction: of several attempts at once, the first moves the account, and the others find it moved.
enum AccountMove {
    /// Moves the account of the first port token that is allowed to move one.
    /// - Returns: The user; nil if no port token is allowed to, and then nothing changed.
    static func move(for signIn: SignInRecord, in db: SQLSession) throws -> UserID? {
        guard !signIn.portedFrom.isEmpty else { return nil }
        let present = try IdentitiesTable.row(signIn.identity, in: db)
        // An identity with an account needs no move.
        if let present, present.movedBy == nil { return nil }
        for ported in signIn.portedFrom {
            guard let former = try former(ported, for: present, in: db) else { continue }
            let number = try move(
                former, to: signIn.identity, present, by: ported, at: signIn.session.createdAt, in: db)
            try AuditTable.insert(event(number, former, ported, signIn), in: db)
            return former.user
        }
        return nil
    }

    /// The identity in a port token, if the port token may move its account.
    private static func former(
        _ ported: PortedIdentity, for present: IdentitiesTable.Row?, in db: SQLSession
    ) throws -> IdentitiesTable.Row? {
        guard let former = try IdentitiesTable.row(ported.identity, in: db), former.movedBy == nil else { return nil }
        // An identity that an account was moved from may get that account back, but no other user's.
        if let present, present.user != former.user { return nil }
        // A port token from before the account came back to the former identity does not move it again: neither after
        // an undone move, nor after the user's return to the former carrier.
        if let restoredAt = former.restoredAt, ported.issuedAt <= restoredAt { return nil }
        return try IdentityMovesTable.hasMoved(ported.token, in: db) ? nil : former
    }

    private static func move(
        _ former: IdentitiesTable.Row, to identity: Identity, _ present: IdentitiesTable.Row?,
        by ported: PortedIdentity, at now: Timestamp, in db: SQLSession
    ) throws -> Int64 {
        let number = try IdentityMovesTable.insert(
            user: former.user, token: ported.token, at: now, arrivingAt: present, in: db)
        try IdentitiesTable.update(
            former.identity, movedBy: number, arrivedBy: former.arrivedBy, restoredAt: former.restoredAt, in: db)
        if present == nil {
            try IdentitiesTable.insert(identity, of: former.user, by: number, at: now, in: db)
        } else {
            try IdentitiesTable.update(identity, movedBy: nil, arrivedBy: number, restoredAt: now, in: db)
        }
        return number
    }

    private static func event(
        _ number: Int64, _ former: IdentitiesTable.Row, _ ported: PortedIdentity, _ signIn: SignInRecord
    ) -> AuditEvent {
        AuditEvent(
            at: signIn.session.createdAt, .identityMoved, user: former.user, by: .user, requestID: signIn.requestID,
            details: AuditDetails { json in
                json.add("move", number)
                json.add(from: former.identity, to: signIn.identity)
                json.add("port_token_issued_at", ported.issuedAt.secondsSinceEpoch)
            })
    }

    /// The effect of undoing a move of a user.
    static func undoable(
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

    fileprivate static func event(
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
}

/// A move that can be undone, and its identities.
package struct UndoableMove: Sendable, Hashable {
    package let move: IdentityMove
    /// The identity that gets the account back.
    package let former: Identity
    /// The identity that loses the account.
    package let present: Identity
}

/// Why a move cannot be undone.
package enum UndoError: Error, Sendable, Hashable {
    /// The user has no move of this number.
    case unknown
    case alreadyUndone
    /// A later move has moved the account on, or the identity it moved to was removed.
    case superseded
}

extension AuditEvent.Kind {
    /// A port token moved an account to another identity.
    package static let identityMoved = AuditEvent.Kind("identity.moved")
    /// An administrator undid such a move.
    package static let identityMoveUndone = AuditEvent.Kind("identity.move_undone")
    /// A sign-in with an identity that an account was moved from was refused.
    package static let movedIdentityRefused = AuditEvent.Kind("identity.moved_refused")
}

extension JSONObjectWriter {
    /// Adds the identities of an event that moves an account.
    mutating func add(from former: Identity, to present: Identity) {
        add("from_issuer", former.issuer)
        add("from_identity", former.fingerprint)
        add("to_issuer", present.issuer)
        add("to_identity", present.fingerprint)
    }
}

extension SQLStore {
    /// Gives the account back to the identity that it was moved from, and ends the user's sessions: some may belong to
    /// the holder of the identity that it was moved to by mistake.
    ///
    /// The identity that the account was moved to is forgotten, and makes a new user when it signs in again. If the
    /// account had been moved away from it before, it gets that status back.
    /// - Parameter applies: False to change nothing, and to tell what would be undone.
    package func undoMove(
        _ number: Int64, of user: UserID, at now: Timestamp, by actor: AuditEvent.Actor, reason: String?,
        applies: Bool = true
    ) async throws(StorageError) -> Result<UndoableMove, UndoError> {
        try await writes.submit { db in
            let result = try AccountMove.undoable(number, of: user, in: db)
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
            try AuditTable.insert(AccountMove.event(undoable, sessions, now, actor, reason), in: db)
            return result
        }
    }
}
