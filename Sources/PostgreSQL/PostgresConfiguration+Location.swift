package import Storage
package import StorageModel

extension PostgresConfiguration: DatabaseLocation {
    /// - Throws: `unavailable` if the server cannot be reached or refuses the user; `corrupt` if the database is
    ///   another program's, or of a version that this one cannot migrate, and then it is not changed.
    package func open(observer: StoreObserver?) throws(StorageError) -> SQLStore {
        SQLStore(try PostgresEngine(self, StoreHooks(observer: observer)))
    }

    package func read<Value>(_ body: ([Migration], SQLSession) throws -> Value) throws(StorageError) -> Value? {
        try PostgresSchema.withConnection(self) { connection in
            try body(PostgresSchema.missing(connection), .postgres(connection))
        }
    }

    package func alone<Value>(
        as name: String, _ tables: [TableShape], _ body: (SQLSession) throws -> Value
    ) throws -> Value {
        try PostgresSchema.bringUpToDate(self)
        var outcome: Result<Value, UnknownOutcome>?
        try PostgresSchema.withConnection(self) { connection in
            guard try PostgresPresence.takeAlone(on: connection) else { throw StorageError.isOpen(name) }
            // All reads must be of one moment, and the other database may take long.
            try connection.script(
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE; SET LOCAL idle_in_transaction_session_timeout = 0")
            // Before the first read, which starts the snapshot.
            try connection.script("LOCK TABLE \(tables.map(\.name).joined(separator: ", ")) IN EXCLUSIVE MODE")
            let value = try body(.postgres(connection))
            do {
                guard try connection.commit() else {
                    throw StorageError(.unavailable, reason: "the PostgreSQL server rolled the transaction back")
                }
                outcome = .success(value)
            } catch let error as PostgresError where error.mayBeCommitted {
                outcome = .failure(UnknownOutcome(reason: error.reason))
            }
        }
        guard let outcome else { throw StorageError(.unavailable, reason: "nothing was done") }
        return try outcome.get()
    }

    package func isSame(as other: any DatabaseLocation) -> Bool { (other as? PostgresConfiguration)?.url == url }

    package func freeBytes() -> UInt64? { nil }
}
