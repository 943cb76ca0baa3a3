import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

@testable import PostgreSQL

/// A kind of database. Every kind must pass the conformance suites.
struct StoreKind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Makes a database; returns a function that opens stores on it, and an object that must outlive them.
    let make: @Sendable () throws -> (open: @Sendable () throws -> SQLStore, holding: any Sendable)

    static let all = [sqlite(.full), sqlite(.normal), postgres, pooled]
    /// One of each engine, and PostgreSQL through a pooler.
    static let engines = [sqlite(.full), postgres, pooled]
    /// Those that several processes use, or that claim so.
    static let shared = [sharedSQLite, postgres]
    /// One that a single process uses.
    static let unshared = sqlite(.full)

    /// An empty store.
    func open() throws -> (store: SQLStore, holding: any Sendable) {
        let (open, holding) = try make()
        return (try open(), holding)
    }

    /// The stores wait for the disk and the server as long as a loaded machine may take: no conformance suite is about
    /// waiting.
    private static let patience = Duration.seconds(60)

    private static func configured(
        _ directory: TemporaryDirectory, _ synchronous: Synchronous = .full
    ) -> SQLiteConfiguration {
        SQLiteConfiguration(
            path: directory.file("store.db"), synchronous: synchronous, busyTimeout: patience, maximumWait: patience)
    }

    private static func sqlite(_ synchronous: Synchronous) -> StoreKind {
        StoreKind(testDescription: "SQLite, synchronous \(synchronous.rawValue)") {
            let directory = try TemporaryDirectory()
            let configuration = configured(directory, synchronous)
            return ({ try SQLStore(configuration: configuration) }, directory)
        }
    }

    private static let sharedSQLite = StoreKind(testDescription: "SQLite as a shared store") {
        let directory = try TemporaryDirectory()
        let configuration = configured(directory)
        return ({ try SQLStore(configuration: configuration, isShared: true) { _, _, _ in } }, directory)
    }

    private static let postgres = StoreKind(testDescription: "PostgreSQL") {
        let configuration = configured(try PostgresCluster.shared().makeSchema())
        return ({ try configuration.open(observer: nil) }, configuration)
    }

    /// With fewer connections to the server than two stores have, and no other way to it.
    private static let pooled = StoreKind(testDescription: "PostgreSQL through PgBouncer") {
        let cluster = try PostgresCluster.shared()
        let pooler = try PgBouncer(before: cluster, schema: cluster.makeSchema(), connections: 4)
        var configuration = configured(pooler.url)
        configuration.poolerURL = configuration.url
        return ({ [configuration] in try configuration.open(observer: nil) }, pooler)
    }

    private static func configured(_ url: String) -> PostgresConfiguration {
        PostgresConfiguration(
            url: Secret(url), poolSize: 4, statementTimeout: patience, connectTimeout: patience, maximumWait: patience)
    }
}
