public import Primitives

extension SQLStore {
    public func addAsyncSignIn(
        _ record: AsyncSignInRecord, limits: AsyncSignInLimits, at now: Timestamp
    ) async throws(StorageError) -> AsyncSignInAdmission {
        try await writes.submit { db in try AsyncSignInsTable.insert(record, limits: limits, at: now, in: db) }
    }

    public func asyncSignIn(handle: TokenHash, at now: Timestamp) async throws(StorageError) -> AsyncSignInRecord? {
        try await reads.submit { db in try AsyncSignInsTable.record(handle: handle, at: now, in: db) }
    }

    public func asyncSignIn(
        notification: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> AsyncSignInRecord? {
        try await reads.submit { db in try AsyncSignInsTable.record(notification: notification, at: now, in: db) }
    }

    public func replaceAsyncSignIn(_ record: AsyncSignInRecord) async throws(StorageError) -> Bool {
        try await writes.submit { db in try AsyncSignInsTable.replace(record, in: db) }
    }

    public func endAsyncSignIn(
        _ record: AsyncSignInRecord, with signIn: SignInRecord
    ) async throws(StorageError) -> AsyncSignInEnding {
        try await writes.submit { db in
            guard try AsyncSignInsTable.replace(record, in: db) else { return .changed }
            guard let signedIn = try Self.user(for: signIn, in: db) else { return .unknownUser }
            guard try !AsyncSignInsTable.hasEndedSession(record, in: db) else { return .sessionEnded }
            try SessionsTable.insert(
                signIn.session, for: signedIn.user.id, by: signIn.identity, signIn.providerSession, in: db)
            try AsyncSignInsTable.noteSession(signIn.session.id, of: record, signedIn.user.id, in: db)
            return .signedIn(signedIn)
        }
    }
}
