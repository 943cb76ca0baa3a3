import Primitives
package import StorageModel

/// Moves a user's account from a former identity to the one that signs in. Runs in the sign-in's transaction: of
/// several attempts at once, the first moves the account, and the others find it moved.
enum AccountMove {
    /// Moves the account of the first port token that is allowed to move one.
    /// - Returns: The user; nil if no port token is allowed to, and then nothing changed.
    static func move(for signIn: SignInRecord, in db: SQLSession) throws -> UserID? {
        guard !signIn.portedFrom.isEmpty else { return nil }
        let present = try IdentitiesTable.lockedRow(signIn.identity, in: db)
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
        guard let former = try IdentitiesTable.lockedRow(ported.identity, in: db), former.movedBy == nil else {
            return nil
        }
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
}

extension AuditEvent.Kind {
    /// A port token moved an account to another identity.
    package static let identityMoved = AuditEvent.Kind("identity.moved")
    /// A sign-in with an identity that an account was moved from was refused.
    package static let movedIdentityRefused = AuditEvent.Kind("identity.moved_refused")
}

extension JSONObjectWriter {
    /// Adds the identities of an event that moves an account.
    package mutating func add(from former: Identity, to present: Identity) {
        add("from_issuer", former.issuer)
        add("from_identity", former.fingerprint)
        add("to_issuer", present.issuer)
        add("to_identity", present.fingerprint)
    }
}
