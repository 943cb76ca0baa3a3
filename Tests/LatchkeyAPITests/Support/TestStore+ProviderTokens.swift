import Primitives
import Storage
import StorageModel

extension TestStore {
    func providerTokens(
        of user: UserID, provider: String, clientID: String
    ) async throws(StorageError) -> ProviderTokenRecord? {
        try await using { store async throws(StorageError) in
            try await store.providerTokens(of: user, provider: provider, clientID: clientID)
        }
    }

    func claimProviderTokens(
        _ serial: Int64, version: Int64, until end: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> Bool {
        try await using { store async throws(StorageError) in
            try await store.claimProviderTokens(serial, version: version, until: end, at: now)
        }
    }

    func releaseProviderTokens(_ serial: Int64, version: Int64) async throws(StorageError) {
        try await using { store async throws(StorageError) in
            try await store.releaseProviderTokens(serial, version: version)
        }
    }

    func replaceProviderTokens(
        _ serial: Int64, version: Int64, with sealed: SealedTokens
    ) async throws(StorageError) -> Bool {
        try await using { store async throws(StorageError) in
            try await store.replaceProviderTokens(serial, version: version, with: sealed)
        }
    }

    func deleteProviderTokens(_ serial: Int64, version: Int64) async throws(StorageError) -> Bool {
        try await using { store async throws(StorageError) in
            try await store.deleteProviderTokens(serial, version: version)
        }
    }
}
