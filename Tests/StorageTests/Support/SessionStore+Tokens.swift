import Primitives
import StorageModel

extension SessionStore {
    /// Revokes the session of a token, its present one or the one before. False if there is none.
    func revokeSession(_ token: TokenHash) async throws(StorageError) -> Bool {
        guard let found = try await session(token, at: Timestamp(secondsSinceEpoch: 0)) else { return false }
        return try await revokeSession(id: found.session.id, of: found.user.id, in: nil, recording: nil) == .revoked
    }
}
