import LatchkeyService
package import Primitives
package import Storage
package import StorageModel

/// What became of some lines of an import.
package struct ImportedBatch: Sendable, Hashable {
    package fileprivate(set) var added = 0
    /// The added users whose e-mail address is stored as verified.
    package fileprivate(set) var verified = 0
    /// Whose identity signs a user in already.
    package fileprivate(set) var present = 0
    /// The lines whose identity an account was moved away from.
    package fileprivate(set) var moved: [Int] = []
}

extension SQLStore {
    /// Makes users, in one transaction with one audit event.
    /// - Parameters:
    ///   - issuers: Those whose word counts about e-mail addresses.
    ///   - applies: Otherwise the database is only read.
    package func importUsers(
        _ users: [ImportedUser], vouching issuers: Set<String>, at now: Timestamp, by actor: AuditEvent.Actor,
        reason: String?, applies: Bool
    ) async throws(StorageError) -> ImportedBatch {
        let work: @Sendable (SQLSession) throws -> ImportedBatch = { db in
            var batch = ImportedBatch()
            for user in users {
                switch try IdentitiesTable.status(of: user.identity, in: db) {
                case .live: batch.present += 1
                case .moved: batch.moved.append(user.line)
                case .unknown:
                    let isVerified =
                        user.hasVerifiedEmail && user.profile[.email] != nil && issuers.contains(user.identity.issuer)
                    if applies { try user.insert(hasVerifiedEmail: isVerified, at: now, in: db) }
                    batch.added += 1
                    if isVerified { batch.verified += 1 }
                }
            }
            if applies, batch.added > 0 {
                let details = AuditDetails { json in
                    json.add("users", batch.added)
                    json.add("reason", ifPresent: reason)
                }
                try AuditTable.insert(
                    AuditEvent(at: now, .usersImported, user: nil, by: actor, details: details), in: db)
            }
            return batch
        }
        guard applies else { return try await reads.submit(work) }
        do throws(StorageError) {
            return try await writes.submit(work)
        } catch {
            // One of the identities signed in meanwhile: it is there now.
            guard error.code == .conflict else { throw error }
            return try await writes.submit(work)
        }
    }
}

extension ImportedUser {
    /// The origin of the attributes is not known: those that the provider tells, too, follow it from the first sign-in
    /// on, and the others are the user's own.
    fileprivate func insert(hasVerifiedEmail: Bool, at now: Timestamp, in db: SQLSession) throws {
        let new = try UsersTable.insert(
            identity, publicID: RandomSource.system.token(bytes: 16), profile: Profile(), asserted: Profile(),
            VerifiedFlags(), claims: nil, at: createdAt ?? now, in: db)
        var user = TrackedUser(new)
        if hasVerifiedEmail {
            user.update(with: [.email: profile[.email]], [.email: true], from: identity.issuer, at: now) { true }
        }
        user.fill(with: profile)
        _ = try UsersTable.replace(TrackedUser(new), by: user, in: db)
    }
}

extension AuditEvent.Kind {
    static let usersImported = AuditEvent.Kind("users.imported")
}
