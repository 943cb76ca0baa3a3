import Primitives
import StorageModel

/// The table `sign_in_attempts`.
enum IssuedNoncesTable {
    static func insert(_ nonce: IssuedNonceRecord, in db: SQLSession) throws {
        var statement = try CachedStatement(db, insert)
        statement.bind(nonce.nonce)
        statement.bind(nonce.provider)
        statement.bind(nonce.expiresAt.secondsSinceEpoch)
        try statement.run()
    }

    /// Removes the nonce if it may still be used; true if it was there.
    static func take(nonce: TokenHash, provider: String, at now: Timestamp, in db: SQLSession) throws -> Bool {
        var statement = try CachedStatement(db, take)
        statement.bind(nonce)
        statement.bind(provider)
        statement.bind(now.secondsSinceEpoch)
        try statement.run()
        return db.changesCount > 0
    }

    private static let insert = "INSERT INTO sign_in_attempts (nonce_hash, provider, expires_at) VALUES (?, ?, ?)"
    private static let take =
        "DELETE FROM sign_in_attempts WHERE nonce_hash = ? AND provider = ? AND expires_at > ?"
}
