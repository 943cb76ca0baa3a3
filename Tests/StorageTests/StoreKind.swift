import Storage
import TestSupport
import Testing

/// An empty store of some kind, and what must outlive it. Every kind has to pass the conformance suites.
struct StoreKind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let open: @Sendable () throws -> (store: any Store, holding: any Sendable)

    static let all = [sqlite(.full), sqlite(.normal)]

    private static func sqlite(_ synchronous: SQLiteConfiguration.Synchronous) -> StoreKind {
        StoreKind(testDescription: "SQLite, synchronous \(synchronous.rawValue)") {
            let directory = try TemporaryDirectory()
            let configuration = SQLiteConfiguration(path: directory.file("store.db"), synchronous: synchronous)
            return (try SQLiteStore(configuration: configuration), directory)
        }
    }
}
