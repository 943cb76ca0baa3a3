import StorageModel

/// Whether servers use a database at this moment, told by an advisory lock that each of them shares for as long as it is
/// connected.
enum PostgresPresence {
    /// The letters "Latc", and the schema: others in the same database are others' business.
    private static let lock = "(1281455203, hashtext(current_schema()))"

    /// Has others see that this connection's process uses the database, until the connection ends; false if somebody has
    /// it alone at this moment.
    static func show(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        try isGiven("SELECT pg_try_advisory_lock_shared\(lock)", on: connection)
    }

    /// Takes the database until the connection ends; false if others use it.
    static func takeAlone(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        try isGiven("SELECT pg_try_advisory_lock\(lock)", on: connection)
    }

    private static func isGiven(
        _ sql: String, on connection: PostgresConnection
    ) throws(PostgresError) -> Bool {
        let result = try connection.run(sql, [])
        return result.rowCount == 1 && result.bytes(0, 0).first == 1
    }
}
