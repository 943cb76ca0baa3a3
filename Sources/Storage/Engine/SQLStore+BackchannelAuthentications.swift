public import Primitives
public import StorageModel

extension SQLStore {
    public func addBackchannelAuthentication(
        _ record: BackchannelAuthenticationRecord, limits: BackchannelAuthenticationLimits, at now: Timestamp
    ) async throws(StorageError) -> BackchannelAuthenticationAdmission {
        try await writes.submit { db in
            try BackchannelAuthenticationsTable.insert(record, limits: limits, at: now, in: db)
        }
    }

    public func backchannelAuthentication(handle: TokenHash, at now: Timestamp) async throws(StorageError)
        -> BackchannelAuthenticationRecord?
    {
        try await reads.submit { db in try BackchannelAuthenticationsTable.record(handle: handle, at: now, in: db) }
    }

    public func backchannelAuthentication(
        notification: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> BackchannelAuthenticationRecord? {
        try await reads.submit { db in
            try BackchannelAuthenticationsTable.record(notification: notification, at: now, in: db)
        }
    }

    public func replaceBackchannelAuthentication(_ record: BackchannelAuthenticationRecord) async throws(StorageError)
        -> Bool
    {
        try await writes.submit { db in try BackchannelAuthenticationsTable.replace(record, in: db) }
    }

    public func endBackchannelAuthentication(
        _ record: BackchannelAuthenticationRecord, with signIn: SignInRecord
    ) async throws(StorageError) -> BackchannelAuthenticationEnding {
        try await writes.submit { db in
            guard try BackchannelAuthenticationsTable.replace(record, in: db) else { return .changed }
            guard let signedIn = try Self.user(for: signIn, in: db) else { return .unknownUser }
            guard try !BackchannelAuthenticationsTable.hasEndedSession(record, in: db) else { return .sessionEnded }
            try SessionsTable.insert(
                signIn.session, for: signedIn.user.id, by: signIn.identity, signIn.providerSession, in: db)
            try BackchannelAuthenticationsTable.noteSession(signIn.session.id, of: record, signedIn.user.id, in: db)
            return .signedIn(signedIn)
        }
    }
}
