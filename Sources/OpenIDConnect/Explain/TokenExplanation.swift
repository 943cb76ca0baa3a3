public import Primitives

/// The result of every check of a token. Validation ends at the first check that fails; an explanation makes all of
/// them.
public struct TokenExplanation<Check: TokenCheck>: Sendable {
    /// The result of one check.
    public struct Step: Sendable, Hashable {
        public let check: Check
        public let verdict: TokenVerdict
        /// What was found, on one line; nothing personal.
        public let found: String
    }

    /// In the order in which the checks are made.
    public let steps: [Step]
    /// The header, if it can be read; not to be trusted.
    public let header: JSONObject?
    /// The claims, if they can be read; personal, and not to be trusted unless ``isAccepted``.
    public let claims: JSONObject?

    /// Whether validation would accept the token.
    public var isAccepted: Bool { steps.allSatisfy { $0.verdict == .passed || $0.verdict == .notCompared } }

    /// Whether a check failed, rather than could not be made.
    public var isRefused: Bool { steps.contains { $0.verdict == .failed } }
}

/// The result of one check.
public enum TokenVerdict: String, Sendable, Hashable {
    /// The token satisfies the check.
    case passed
    /// The token does not satisfy the check.
    case failed
    /// The token satisfies the check as far as it can be made: there is no expected value to compare with.
    case notCompared = "not_compared"
    /// What the check looks at cannot be read, or is not available.
    case notPossible = "not_possible"

    init(_ isMet: Bool) { self = isMet ? .passed : .failed }
}

/// Of an ID token, by the checks of a sign-in.
public typealias IDTokenExplanation = TokenExplanation<IDTokenCheck>

/// Of a logout token, by the checks of a back-channel logout.
public typealias LogoutTokenExplanation = TokenExplanation<LogoutTokenCheck>

/// Of a signed authorization response, by the checks of a sign-in by redirects.
public typealias AuthorizationResponseExplanation = TokenExplanation<AuthorizationResponseCheck>

extension TokenExplanation: Redacted {
    /// Whether the token would be accepted.
    public var shown: [Mirror.Child] { [("isAccepted", isAccepted)] }
}
