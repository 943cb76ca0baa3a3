import Foundation
package import LatchkeyConfiguration
package import Primitives
import Storage
import StorageModel

/// Looks up and repairs accounts for an operator, in the database of a configuration. Servers may use the database at
/// the same time.
package struct AdminService: Sendable {
    let store: SQLStore
    let clock: WallClock

    /// Opens the database, which must exist.
    /// - Throws: ``OperatorFailure`` if it cannot be used.
    package init(_ configuration: Configuration, clock: WallClock = .system) throws {
        if let path = configuration.database.url.path, !FileManager.default.fileExists(atPath: path) {
            throw OperatorFailure("there is no database at \(path); set database.url or LATCHKEY_DATABASE_URL")
        }
        do {
            store = try LatchkeyService.openStore(configuration)
        } catch let error as LatchkeyStartError {
            throw OperatorFailure(error.description)
        }
        self.clock = clock
    }

    /// Closes the database.
    package func close() async { try? await store.close() }

    func stored<Value>(
        _ call: @autoclosure () async throws(StorageError) -> Value
    ) async throws(OperatorFailure) -> Value {
        do throws(StorageError) {
            return try await call()
        } catch {
            throw OperatorFailure("the database: \(error.reason)")
        }
    }
}

/// Why an operator's command failed: the cause and the remedy.
package struct OperatorFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// One line for the operator.
    package let description: String

    init(_ description: String) { self.description = description }
}
