import Primitives
package import StorageModel

extension SQLStore {
    package func signIn(_ signIn: SignInRecord) async throws(StorageError) -> SignedInUser? {
        try await writes.submit { db in
            guard var signedIn = try Self.user(for: signIn, in: db) else { return nil }
            if let record = signIn.idempotency {
                let given = try RecentSignInsTable.put(record, signedIn.user.id, session: signIn.session.id, in: db)
                guard let given else { return nil }
                signedIn.given = given
            }
            try SessionsTable.insert(
                signIn.session, for: signedIn.user.id, by: signIn.identity, signIn.providerSession, in: db)
            if let tokens = signIn.tokens {
                try ProviderTokensTable.put(
                    tokens, of: signIn.identity, signedIn.user.id, at: signIn.session.createdAt, in: db)
            }
            return signedIn
        }
    }

    static func user(for signIn: SignInRecord, in db: SQLSession) throws -> SignedInUser? {
        if let user = try UsersTable.user(signIn.identity, in: db) {
            guard let profile = signIn.profile else { return SignedInUser(user: user, isNew: false) }
            return SignedInUser(user: try UsersTable.fill(user, with: profile, in: db), isNew: false)
        }
        if let moved = try AccountMove.move(for: signIn, in: db), let user = try UsersTable.user(moved, in: db) {
            return SignedInUser(
                user: try UsersTable.fill(user, with: signIn.profile ?? Profile(), in: db), isNew: false, wasMoved: true
            )
        }
        if case .moved(let owner) = try IdentitiesTable.status(of: signIn.identity, in: db) {
            try AuditTable.insert(refusal(of: signIn, owner), in: db)
            return nil
        }
        guard case .welcome(let publicID) = signIn.newcomers else { return nil }
        let user = try UsersTable.insert(
            signIn.identity, publicID: publicID, profile: signIn.profile ?? Profile(), at: signIn.session.createdAt,
            in: db)
        return SignedInUser(user: user, isNew: true)
    }

    private static func refusal(of signIn: SignInRecord, _ owner: UserID) -> AuditEvent {
        AuditEvent(
            at: signIn.session.createdAt, .movedIdentityRefused, user: owner, by: .user, requestID: signIn.requestID,
            details: AuditDetails { json in
                json.add("issuer", signIn.identity.issuer)
                json.add("identity", signIn.identity.fingerprint)
            })
    }
}
