package import StorageModel

/// A failure of an engine.
package protocol EngineError: Error {
    /// The reason contains the statement, never the values bound to it.
    var storageError: StorageError { get }
}

extension StorageError {
    /// Translates a failure of the database.
    package init(_ error: any Error) {
        switch error {
        case let error as StorageError: self = error
        case let error as any EngineError: self = error.storageError
        default: self.init(.unavailable, reason: "the database gave an unknown error")
        }
    }

    /// Translates a failure, with what failed before its reason.
    package init(_ error: any Error, _ failed: String) {
        let error = StorageError(error)
        self.init(error.code, reason: "\(failed): \(error.reason)")
    }
}
