/// Where the tokens of the signed-in user are kept: on a device, its Keychain.
///
/// An app and its extensions may share one: whoever finds that another has refreshed uses what that one got.
public protocol TokenStore: Sendable {
    /// The tokens last saved; nil if there are none.
    func load() async throws -> Tokens?
    /// Keeps tokens in the place of those of before; nil forgets them.
    func save(_ tokens: Tokens?) async throws
}

/// Keeps tokens as long as the process lives: for tests, and for sessions that shall end with the app.
public actor MemoryTokenStore: TokenStore {
    private var tokens: Tokens?

    public init(_ tokens: Tokens? = nil) {
        self.tokens = tokens
    }

    public func load() -> Tokens? { tokens }

    public func save(_ tokens: Tokens?) { self.tokens = tokens }
}
