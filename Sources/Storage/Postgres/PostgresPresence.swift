/// Shows whether servers use a database: each holds a shared advisory lock for as long as it is connected.
enum PostgresPresence {
    /// The letters "Latc" and the schema, so that other schemas of the database do not count.
    private static let lock = "(1281455203, hashtext(current_schema()))"

    /// Takes the shared lock until the connection ends; false if another connection holds the lock exclusively.
    static func show(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        try isGiven("SELECT pg_try_advisory_lock_shared\(lock)", on: connection)
    }

    /// Takes the lock exclusively until the connection ends; false if other connections hold it.
    static func takeAlone(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        try isGiven("SELECT pg_try_advisory_lock\(lock)", on: connection)
    }

    private static func isGiven(_ sql: String, on connection: PostgresConnection) throws(PostgresError) -> Bool {
        let result = try connection.run(sql)
        return result.rowCount == 1 && result.bytes(0, 0).first == 1
    }
}
