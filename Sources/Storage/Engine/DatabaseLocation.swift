package import StorageModel

/// A database on one of the engines, before it is opened. All functions block.
package protocol DatabaseLocation: Sendable {
    /// The tables that are made beside those of ``Schema``.
    var featureTables: [FeatureTable] { get set }

    /// Opens the database and migrates its tables. Servers may be running: no migration runs twice. An SQLite database
    /// is made if it is missing; one on a PostgreSQL server must exist.
    /// - Parameter observer: Receives every call as it ends.
    func open(observer: StoreObserver?) throws(StorageError) -> SQLStore

    /// As ``open(observer:)``, for a command beside running servers.
    func openForCommand() throws(StorageError) -> SQLStore

    /// Reads the database, which servers may be using.
    /// - Parameter body: Gets the missing migrations.
    /// - Returns: Nil without a database.
    func read<Value>(_ body: ([Migration], SQLSession) throws -> Value) throws(StorageError) -> Value?

    /// Runs `body` in one transaction of a database that no server has open; no other process writes to it meanwhile.
    ///
    /// - Parameters:
    ///   - name: The database's name in errors.
    ///   - tables: Those that `body` reads or writes.
    /// - Throws: The error of `body`, or ``StorageError``; then nothing was stored. ``UnknownOutcome`` if it is unknown
    ///   whether something was.
    func alone<Value>(as name: String, _ tables: [TableShape], _ body: (SQLSession) throws -> Value) throws -> Value

    /// Whether both are one database.
    func isSame(as other: any DatabaseLocation) -> Bool

    /// The free bytes on its disk, after a check that it can be kept there; nil for PostgreSQL.
    func freeBytes() throws(StorageError) -> UInt64?
}

extension DatabaseLocation {
    package func openForCommand() throws(StorageError) -> SQLStore { try open(observer: nil) }
}

/// It is unknown whether a transaction was stored, because its commit was not confirmed.
package struct UnknownOutcome: Error {
    package let reason: String

    package init(reason: String) { self.reason = reason }
}

extension StorageError {
    /// - Parameter name: The database's name.
    package static func isOpen(_ name: String) -> StorageError {
        StorageError(.unavailable, reason: "servers have \(name) open; stop all that use it first")
    }
}
