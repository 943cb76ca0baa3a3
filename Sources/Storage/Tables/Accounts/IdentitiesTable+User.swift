import Primitives
package import StorageModel

/// The identities that users sign in with, as the users see them.
extension IdentitiesTable {
    /// A user's live identities, or one of them, the oldest first. Gives an id to those that have none yet.
    fileprivate static func linked(
        _ user: UserID, only identity: Identity? = nil, in db: SQLSession
    ) throws -> [LinkedIdentity] {
        // The ids are not secret: they are looked up among the user's own only.
        let id = db.isPostgres ? "replace(gen_random_uuid()::text, '-', '')" : "lower(hex(randomblob(16)))"
        try db.perform("UPDATE identities SET id = \(id) WHERE \(live) AND id IS NULL", user)
        let select = "SELECT id, issuer, created_at FROM identities WHERE \(live)"
        func linked(in row: borrowing CachedStatement) throws -> LinkedIdentity {
            LinkedIdentity(id: try row.text(0), issuer: try row.text(1), createdAt: row.time(2))
        }
        if let identity {
            return try db.all("\(select) AND issuer = ? AND subject = ?", user, identity, read: linked(in:))
        }
        return try db.all("\(select) ORDER BY created_at, id", user, read: linked(in:))
    }

    fileprivate static func count(of user: UserID, in db: SQLSession) throws -> Int64 {
        try db.number("SELECT count(*) FROM identities WHERE \(live)", user)
    }

    /// The identities from which a user's account came to this one: their holder is the holder of this one.
    fileprivate static func ported(into identity: Identity, of user: UserID, in db: SQLSession) throws -> [Identity] {
        let rows = try rows(of: user, in: db)
        var found: [Identity] = []
        var move = try row(identity, in: db)?.arrivedBy
        while let number = move, found.count < rows.count, let row = rows.first(where: { $0.movedBy == number }) {
            found.append(row.identity)
            move = row.arrivedBy
        }
        return found
    }

    fileprivate static let live = "user_id = ? AND moved_by IS NULL"
}

extension SQLStore {
    package func statuses(of identities: [Identity]) async throws(StorageError) -> [IdentityStatus] {
        try await reads.submit { db in try identities.map { try IdentitiesTable.status(of: $0, in: db) } }
    }

    /// Writes at the first call for a user, to give the identities their ids.
    package func identities(of user: UserID) async throws(StorageError) -> [LinkedIdentity] {
        try await writes.submit(locking: [.user(user)]) { db in try IdentitiesTable.linked(user, in: db) }
    }

    /// In one transaction: a session that ends meanwhile links nothing, and of two users who claim an identity at once
    /// one gets it.
    package func link(_ link: IdentityLink) async throws(StorageError) -> IdentityLinking {
        let locks = [.user(link.user)] + (link.provenPhoneNumber.map { [WriteLock.phoneNumber($0)] } ?? [])
        return try await writes.submit(locking: locks) { db in
            func linked() throws -> LinkedIdentity? {
                try IdentitiesTable.linked(link.user, only: link.identity, in: db).first
            }
            guard try SessionsTable.session(link.session, at: link.time, in: db)?.user.id == link.user else {
                return .unknownSession
            }
            switch try IdentitiesTable.status(of: link.identity, in: db) {
            case .live(link.user):
                try link.putTokens(in: db)
                try link.confirmPhoneNumber(in: db)
                return try linked().map { .wasLinked($0) } ?? .isTaken
            case .live, .moved:
                try AuditTable.insert(link.event(.identityLinkRefused), in: db)
                return .isTaken
            case .unknown:
                guard try IdentitiesTable.count(of: link.user, in: db) < link.limit else { return .tooMany }
                try IdentitiesTable.insert(link.identity, of: link.user, at: link.time, in: db)
                try link.putTokens(in: db)
                try link.confirmPhoneNumber(in: db)
                try AuditTable.insert(link.event(.identityLinked), in: db)
                return try linked().map { .linked($0) } ?? .isTaken
            }
        }
    }

    package func removeIdentity(
        id: String, of user: UserID, keeping session: String?,
        recording event: @escaping @Sendable (Identity) -> AuditEvent
    ) async throws(StorageError) -> IdentityRemoval {
        try await writes.submit(locking: [.user(user)]) { db in
            if let session, try !SessionsTable.holds(session, of: user, in: db) { return .unknownSession }
            let identity = try db.first(
                "SELECT issuer, subject FROM identities WHERE \(IdentitiesTable.live) AND id = ?", user, id
            ) { try $0.identity(from: 0) }
            guard let identity else { return .unknown }
            guard try IdentitiesTable.count(of: user, in: db) > 1 else { return .isLast }
            let earlier = try IdentitiesTable.ported(into: identity, of: user, in: db)
            try IdentitiesTable.delete(identity, in: db)
            for signedIn in [identity] + earlier {
                _ = try SessionsTable.endAll(of: user, signedInBy: signedIn, except: session, in: db)
            }
            try AuditTable.insert(event(identity), in: db)
            return .removed
        }
    }
}

extension IdentityLink {
    /// The proven number becomes the user's verified one, and nobody else's.
    fileprivate func confirmPhoneNumber(in db: SQLSession) throws {
        guard let number = provenPhoneNumber, let found = try UsersTable.trackedUser(user, in: db) else { return }
        let confirmed = altered(found) { $0.confirm(phoneNumber: number, by: identity.issuer, at: time) }
        _ = try UsersTable.replace(found, by: confirmed, in: db)
        _ = try ReassignedNumber.endVerifications(
            of: number, nowOf: user, identity, at: time, requestID: requestID, in: db)
    }

    fileprivate func putTokens(in db: SQLSession) throws {
        guard let tokens else { return }
        try ProviderTokensTable.put(tokens, of: identity, user, at: time, replacing: false, in: db)
    }

    fileprivate func event(_ kind: AuditEvent.Kind) -> AuditEvent {
        AuditEvent(
            at: time, kind, user: user, by: .user, requestID: requestID,
            details: AuditDetails { json in
                json.add("identity", identity.fingerprint)
                json.add("issuer", identity.issuer)
            })
    }
}
