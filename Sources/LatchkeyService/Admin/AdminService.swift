import Foundation
public import LatchkeyConfiguration
public import Primitives
import Storage
import StorageModel

/// What an operator looks up and mends by hand, in the database that a configuration names. A server may run on the same
/// database meanwhile.
public struct AdminService: Sendable {
    let store: SQLStore
    let clock: WallClock

    /// Opens the database, which has to be there.
    /// - Throws: ``OperatorFailure`` that says why it cannot be used.
    public init(_ configuration: Configuration, clock: WallClock = .system) throws {
        if let path = configuration.database.url.path, !FileManager.default.fileExists(atPath: path) {
            throw OperatorFailure(
                "there is no database at \(path); name the right one with database.url or LATCHKEY_DATABASE_URL")
        }
        do {
            store = try LatchkeyService.openStore(configuration)
        } catch let error as LatchkeyStartError {
            throw OperatorFailure(error.description)
        }
        self.clock = clock
    }

    /// Closes the database.
    public func close() async { try? await store.close() }

    func storing<Value>(_ step: () async throws(StorageError) -> Value) async throws(OperatorFailure) -> Value {
        do throws(StorageError) {
            return try await step()
        } catch {
            throw OperatorFailure("the database: \(error.reason)")
        }
    }
}

/// Why an operator's command did nothing: what is wrong, and what to do about it.
public struct OperatorFailure: Error, Sendable, Hashable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
