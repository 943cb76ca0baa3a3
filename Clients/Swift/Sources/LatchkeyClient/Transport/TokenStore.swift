/// Stores the tokens of the signed-in user, for example in the Keychain.
///
/// An app and its extensions may share one store. Each uses the tokens that another has refreshed.
public protocol TokenStore: Sendable {
    /// The last saved tokens; nil if there are none.
    func load() async throws -> Tokens?
    /// Replaces the stored tokens; nil deletes them.
    func save(_ tokens: Tokens?) async throws
}

/// Stores tokens in memory: for tests, and for sessions that end with the app.
public actor MemoryTokenStore: TokenStore {
    private var tokens: Tokens?

    /// A store with tokens, by default without.
    public init(_ tokens: Tokens? = nil) { self.tokens = tokens }

    /// The last saved tokens; nil if there are none.
    public func load() -> Tokens? { tokens }

    /// Replaces the stored tokens; nil deletes them.
    public func save(_ tokens: Tokens?) { self.tokens = tokens }
}
