/// Why a service did not start: what failed, and what to do about it.
public struct LatchkeyStartError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: String, Sendable {
        case database
        case network
        case outbound
        case configuration
    }

    public let code: Code
    public let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
