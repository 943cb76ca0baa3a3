import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

/// A kind of database. Every kind must pass the conformance suites.
struct StoreKind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Makes a database; returns a function that opens stores on it, and an object that must outlive them.
    let make: @Sendable () throws -> (open: @Sendable () throws -> SQLStore, holding: any Sendable)

    static let all = [sqlite(.full), sqlite(.normal), postgres]
    /// One of each engine.
    static let engines = [sqlite(.full), postgres]

    /// An empty store.
    func open() throws -> (store: SQLStore, holding: any Sendable) {
        let (open, holding) = try make()
        return (try open(), holding)
    }

    private static func sqlite(_ synchronous: Synchronous) -> StoreKind {
        StoreKind(testDescription: "SQLite, synchronous \(synchronous.rawValue)") {
            let directory = try TemporaryDirectory()
            let configuration = SQLiteConfiguration(path: directory.file("store.db"), synchronous: synchronous)
            return ({ try SQLStore(configuration: configuration) }, directory)
        }
    }

    private static let postgres = StoreKind(testDescription: "PostgreSQL") {
        let configuration = PostgresConfiguration(url: Secret(try PostgresCluster.shared().makeSchema()), poolSize: 4)
        return ({ try SQLStore(configuration: configuration) }, configuration)
    }
}
