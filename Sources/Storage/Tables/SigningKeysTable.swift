import Primitives
import StorageModel

/// The table `signing_keys`.
enum SigningKeysTable {
    static func keys(in db: SQLSession) throws -> [SigningKeyRecord] {
        let query = try CachedStatement(db, select)
        var keys: [SigningKeyRecord] = []
        while try query.next() {
            keys.append(
                SigningKeyRecord(
                    id: try query.requiredText(0), publicKey: query.blob(1), privateKey: query.blob(2),
                    createdAt: Timestamp(secondsSinceEpoch: query.number(3)),
                    signsFrom: Timestamp(secondsSinceEpoch: query.number(4))))
        }
        return keys
    }

    /// False if another key than `newest` was added last.
    static func insert(_ key: SigningKeyRecord, after newest: String?, in db: SQLSession) throws -> Bool {
        var statement = try CachedStatement(db, insert)
        statement.bind(key.id)
        statement.bind(newest ?? "")
        statement.bind(blob: key.publicKey)
        statement.bind(blob: key.privateKey)
        statement.bind(key.createdAt.secondsSinceEpoch)
        statement.bind(key.signsFrom.secondsSinceEpoch)
        statement.bind(newest)
        try statement.run()
        return db.changesCount > 0
    }

    static func delete(_ id: String, in db: SQLSession) throws {
        var statement = try CachedStatement(db, "DELETE FROM signing_keys WHERE kid = ?")
        statement.bind(id)
        try statement.run()
    }

    private static let select =
        "SELECT kid, public_key, private_key, created_at, signs_from FROM signing_keys ORDER BY serial"
    private static let insert = """
        INSERT INTO signing_keys (kid, predecessor, public_key, private_key, created_at, signs_from) \
        SELECT ?, ?, ?, ?, ?, ? WHERE (SELECT kid FROM signing_keys ORDER BY serial DESC LIMIT 1) IS NOT DISTINCT FROM ? \
        ON CONFLICT DO NOTHING
        """
}
