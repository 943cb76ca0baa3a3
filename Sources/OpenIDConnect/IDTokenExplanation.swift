public import Primitives

/// What became of each check of an ID token: of all of them, where a sign-in ends at the first that fails.
public struct IDTokenExplanation: Sendable {
    public enum Verdict: String, Sendable, Hashable {
        case passed
        case failed
        /// What the check looks at cannot be read, or is not at hand.
        case notPossible = "not_possible"
    }

    public struct Step: Sendable, Hashable {
        public let check: IDTokenCheck
        public let verdict: Verdict
        /// What was found, on one line; nothing personal.
        public let found: String
    }

    /// In the order in which a sign-in makes them.
    public let steps: [Step]
    /// What the header says, if it can be read; not to be believed.
    public let header: JSONObject?
    /// What the token claims, if it can be read; personal, and not to be believed unless ``isAccepted``.
    public let claims: JSONObject?

    /// Whether a sign-in would accept the token.
    public var isAccepted: Bool { steps.allSatisfy { $0.verdict == .passed } }

    /// Whether a check failed, rather than could not be made.
    public var isRefused: Bool { steps.contains { $0.verdict == .failed } }
}

extension IDTokenExplanation: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "IDTokenExplanation(isAccepted: \(isAccepted))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["steps": steps]) }
}
