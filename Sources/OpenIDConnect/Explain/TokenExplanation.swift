public import Primitives

/// A rule by its name, which stays as it is.
public protocol TokenCheck: RawRepresentable<String>, Sendable, Hashable {
    /// What the check demands, as a sentence for an error answer.
    var demand: String { get }
}

/// What became of each check of a token: of all of them, where whoever believes it ends at the first that fails.
public struct TokenExplanation<Check: TokenCheck>: Sendable {
    public struct Step: Sendable, Hashable {
        public let check: Check
        public let verdict: TokenVerdict
        /// What was found, on one line; nothing personal.
        public let found: String
    }

    /// In the order in which the checks are made.
    public let steps: [Step]
    /// What the header says, if it can be read; not to be believed.
    public let header: JSONObject?
    /// What the token claims, if it can be read; personal, and not to be believed unless ``isAccepted``.
    public let claims: JSONObject?

    /// Whether the token would be believed.
    public var isAccepted: Bool { steps.allSatisfy { $0.verdict == .passed } }

    /// Whether a check failed, rather than could not be made.
    public var isRefused: Bool { steps.contains { $0.verdict == .failed } }
}

/// What became of one check.
public enum TokenVerdict: String, Sendable, Hashable {
    case passed
    case failed
    /// What the check looks at cannot be read, or is not at hand.
    case notPossible = "not_possible"

    init(_ isMet: Bool) { self = isMet ? .passed : .failed }
}

/// Of an ID token, as a sign-in checks it.
public typealias IDTokenExplanation = TokenExplanation<IDTokenCheck>

/// Of a logout token, as a back-channel logout checks it.
public typealias LogoutTokenExplanation = TokenExplanation<LogoutTokenCheck>

extension TokenExplanation: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "TokenExplanation(isAccepted: \(isAccepted))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["steps": steps]) }
}
