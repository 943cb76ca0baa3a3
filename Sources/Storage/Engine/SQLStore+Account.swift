public import StorageModel

extension SQLStore {
    public func editProfile(
        of user: UserID, _ change: ProfileChange, recording event: AuditEvent
    ) async throws(StorageError) -> User? {
        try await writes.submit { db in
            guard let found = try UsersTable.user(user, in: db) else { return nil }
            let edited = try UsersTable.replaceProfile(of: found, by: change.applied(to: found.profile), in: db)
            if edited != found { try AuditTable.insert(event, in: db) }
            return edited
        }
    }

    /// Writes, where it is the first time that somebody asks.
    public func identities(of user: UserID) async throws(StorageError) -> [LinkedIdentity] {
        try await writes.submit { db in try IdentitiesTable.identities(of: user, in: db) }
    }

    public func removeIdentity(
        id: String, of user: UserID, keeping session: String?,
        recording event: @escaping @Sendable (Identity) -> AuditEvent
    ) async throws(StorageError) -> IdentityRemoval {
        try await writes.submit { db in
            guard let identity = try IdentitiesTable.identity(id: id, of: user, in: db) else { return .unknown }
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
