public import Primitives

/// Whose tokens a row holds, of which provider and for which client: what the sealed content is bound to, so that no row
/// can stand in for another.
public struct TokenBinding: Sendable, Hashable {
    public let user: UserID
    /// The identity that the provider vouched for when it gave the tokens.
    public let identity: Identity
    /// The provider's name in paths.
    public let provider: String
    public let clientID: String

    public init(user: UserID, identity: Identity, provider: String, clientID: String) {
        self.user = user
        self.identity = identity
        self.provider = provider
        self.clientID = clientID
    }
}

/// A provider's tokens as they stand in the store, which cannot read them.
public struct SealedTokens: Sendable, Hashable {
    /// Names the key that opens them.
    public let keyID: String
    public let content: [UInt8]
    /// When they are good for nothing any more; nil where that is not known, or they can be refreshed.
    public let expiresAt: Timestamp?

    public init(keyID: String, content: [UInt8], expiresAt: Timestamp?) {
        self.keyID = keyID
        self.content = content
        self.expiresAt = expiresAt
    }
}

/// A row of provider tokens.
public struct ProviderTokenRecord: Sendable, Hashable {
    /// Never that of another row, not even of one that was deleted.
    public let serial: Int64
    public let binding: TokenBinding
    public let sealed: SealedTokens
    /// Counts the changes: who changes the row says which version they have seen.
    public let version: Int64

    public init(serial: Int64, binding: TokenBinding, sealed: SealedTokens, version: Int64) {
        self.serial = serial
        self.binding = binding
        self.sealed = sealed
        self.version = version
    }
}

/// Tokens to be stored with a sign-in: sealed in its transaction, when it is known whose they are.
public struct NewProviderTokens: Sendable {
    public let provider: String
    public let clientID: String
    /// Seals them for their place. Beside it is given the row that they replace, if there is one.
    public let seal: @Sendable (TokenBinding, ProviderTokenRecord?) throws -> SealedTokens

    public init(
        provider: String, clientID: String,
        seal: @escaping @Sendable (TokenBinding, ProviderTokenRecord?) throws -> SealedTokens
    ) {
        self.provider = provider
        self.clientID = clientID
        self.seal = seal
    }
}

/// Tokens that wait in a ``OneTimeRecord`` until their user has registered.
public struct WaitingProviderTokens: Sendable {
    public let handle: TokenHash
    public let purpose: String
    /// What is to be stored of the record's content; nil if it is nothing of that kind.
    public let open: @Sendable ([UInt8]) -> NewProviderTokens?

    public init(handle: TokenHash, purpose: String, open: @escaping @Sendable ([UInt8]) -> NewProviderTokens?) {
        self.handle = handle
        self.purpose = purpose
        self.open = open
    }
}
