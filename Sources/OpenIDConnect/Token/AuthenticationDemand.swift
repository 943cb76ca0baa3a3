public import Primitives

/// What a sign-in asks of the provider: for which claims, and how the user shall be authenticated (OpenID Connect Core
/// section 3.1.2.1).
public struct AuthenticationDemand: Sendable, Hashable {
    /// The longest `max_age`, in seconds: one year.
    package static let longestMaximumAge: Int64 = 31_536_000

    public var scopes: [String]
    /// The authentication contexts asked for. Any of them will do.
    public var acrValues: [String] = []
    /// The text that the user is asked to approve.
    public var context: String?
    /// What to show the user.
    public var prompt: [Prompt] = []
    /// Whom the provider may expect to sign in.
    public var loginHint: String?
    /// How long ago the user may have authenticated, in seconds (`max_age`), up to a year; nil if it is not limited.
    public var maximumAge: Int64?
    /// The time before which the user must not have authenticated: the start of a sign-in with `prompt=login`.
    public var since: Timestamp?

    /// Asks for the claims of these scopes.
    public init(scopes: [String] = []) { self.scopes = scopes }

    /// Whether only an ID token can confirm it.
    package var needsIDToken: Bool { !acrValues.isEmpty || context != nil || maximumAge != nil }
}
