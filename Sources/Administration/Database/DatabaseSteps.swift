package import Storage
package import StorageModel

/// The migrations of a database: those done, and those missing.
package struct DatabaseSteps: Sendable, Hashable {
    /// The completed migrations, by name, in order.
    package let done: [String]
    /// The migrations that the next start, or ``run(on:)``, runs.
    package let pending: [String]

    /// Reads the database, which servers may be using. Blocks.
    package init(of place: any DatabaseLocation) throws(StorageError) {
        let names = (try place.read { missing, _ in missing } ?? Schema.migrations).map(\.name)
        pending = names
        done = Schema.migrations.map(\.name).filter { !names.contains($0) }
    }

    /// Runs the missing migrations. Servers may be running: no migration runs twice. An SQLite database is made if it
    /// is missing; one on a PostgreSQL server must exist.
    /// - Returns: The state before.
    /// - Throws: ``StorageError``; completed migrations of an SQLite database stay.
    package static func run(on place: any DatabaseLocation) async throws(StorageError) -> DatabaseSteps {
        let before = try DatabaseSteps(of: place)
        try await place.open(observer: nil).close()
        return before
    }
}
