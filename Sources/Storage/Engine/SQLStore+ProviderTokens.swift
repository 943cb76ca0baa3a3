public import Primitives
public import StorageModel

extension SQLStore {
    public func providerTokens(
        of user: UserID, provider: String, clientID: String
    ) async throws(StorageError) -> ProviderTokenRecord? {
        try await reads.submit { db in
            try ProviderTokensTable.record(of: user, provider: provider, clientID: clientID, in: db)
        }
    }

    public func claimProviderTokens(
        _ serial: Int64, version: Int64, until end: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            try ProviderTokensTable.claim(serial, version: version, until: end, at: now, in: db)
        }
    }

    public func releaseProviderTokens(_ serial: Int64, version: Int64) async throws(StorageError) {
        try await writes.submit { db in try ProviderTokensTable.release(serial, version: version, in: db) }
    }

    public func replaceProviderTokens(
        _ serial: Int64, version: Int64, with sealed: SealedTokens
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            try ProviderTokensTable.replace(serial, version: version, with: sealed, in: db)
        }
    }

    public func deleteProviderTokens(_ serial: Int64, version: Int64) async throws(StorageError) -> Bool {
        try await writes.submit { db in try ProviderTokensTable.delete(serial, version: version, in: db) }
    }
}
