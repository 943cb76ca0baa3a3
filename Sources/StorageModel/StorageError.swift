/// The store could not do what was asked, or cannot say whether it did.
public struct StorageError: Error, Sendable, Hashable {
    public enum Code: String, Sendable, CaseIterable {
        /// Cannot be opened or reached, or is locked for longer than is sensible.
        case unavailable
        /// The disk has no room or refuses to write.
        case full
        /// Its content is not what this version wrote.
        case corrupt
        /// A record of the same key (a token's hash) is there already; nothing was stored.
        case conflict
        /// Too many calls are waiting.
        case overloaded
        /// It was closed.
        case closed
    }

    public let code: Code
    /// What the database said: statements, never the values bound to them.
    public let reason: String

    public init(_ code: Code, reason: String) {
        self.code = code
        self.reason = reason
    }
}
