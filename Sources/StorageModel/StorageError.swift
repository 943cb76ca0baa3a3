/// A failure of the store, or an unknown outcome.
public struct StorageError: Error, Sendable, Hashable {
    /// The kind of failure; stable.
    public enum Code: String, Sendable, CaseIterable {
        /// The database cannot be opened or reached, or stays locked for too long.
        case unavailable
        /// The disk is full or refuses to write.
        case full
        /// The content is not what this version wrote.
        case corrupt
        /// A record of the same key (a token's hash) exists; nothing was stored.
        case conflict
        /// Too many calls are waiting.
        case overloaded
        /// The store was closed.
        case closed
    }

    /// The kind of failure.
    public let code: Code
    /// The database's message, with statements but never the values bound to them.
    public let reason: String

    package init(_ code: Code, reason: String) {
        self.code = code
        self.reason = reason
    }
}
