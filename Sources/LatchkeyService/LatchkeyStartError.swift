/// Why a service did not start: the cause and the remedy.
public struct LatchkeyStartError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What failed.
    public enum Code: String, Sendable {
        /// The database cannot be opened.
        case database
        /// An address cannot be bound.
        case network
        /// Outbound requests cannot be made.
        case outbound
        /// The configuration lacks something.
        case configuration
    }

    public let code: Code
    /// One line for the administrator.
    public let description: String

    /// An error of the service, or of a feature.
    public init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
