package import Primitives

/// The user, identity, provider and client of a row of tokens. The encryption authenticates it, so that no row can
/// replace another.
package struct TokenBinding: Sendable, Hashable {
    package let user: UserID
    /// The identity that the provider issued the tokens for.
    package let identity: Identity
    /// The provider's name in paths.
    package let provider: String
    package let clientID: String

    package init(user: UserID, identity: Identity, provider: String, clientID: String) {
        self.user = user
        self.identity = identity
        self.provider = provider
        self.clientID = clientID
    }
}

/// A provider's tokens in encrypted form; the store cannot read them.
package struct SealedTokens: Sendable, Hashable {
    /// The id of the encryption key.
    package let keyID: String
    package let content: [UInt8]
    /// When they expire; nil if unknown, or if they can be refreshed.
    package let expiresAt: Timestamp?

    package init(keyID: String, content: [UInt8], expiresAt: Timestamp?) {
        self.keyID = keyID
        self.content = content
        self.expiresAt = expiresAt
    }
}

/// A row of provider tokens.
package struct ProviderTokenRecord: Sendable, Hashable {
    /// Unique, also among deleted rows.
    package let serial: Int64
    package let binding: TokenBinding
    package let sealed: SealedTokens
    /// Counts the changes: a change names the version that it is based on.
    package let version: Int64

    package init(serial: Int64, binding: TokenBinding, sealed: SealedTokens, version: Int64) {
        self.serial = serial
        self.binding = binding
        self.sealed = sealed
        self.version = version
    }
}

/// Tokens to store with a sign-in: encrypted in its transaction, when their user is known.
package struct NewProviderTokens: Sendable {
    package let provider: String
    package let clientID: String
    /// Encrypts them for their binding. The second argument is the row that they replace, if there is one.
    package let seal: @Sendable (TokenBinding, ProviderTokenRecord?) throws -> SealedTokens

    package init(
        provider: String, clientID: String,
        seal: @escaping @Sendable (TokenBinding, ProviderTokenRecord?) throws -> SealedTokens
    ) {
        self.provider = provider
        self.clientID = clientID
        self.seal = seal
    }
}

/// Tokens that wait in a ``OneTimeRecord`` until their user has registered.
package struct WaitingProviderTokens: Sendable {
    package let handle: TokenHash
    package let purpose: String
    /// Decrypts the record's content; nil if it is invalid.
    package let open: @Sendable ([UInt8]) -> NewProviderTokens?

    package init(handle: TokenHash, purpose: String, open: @escaping @Sendable ([UInt8]) -> NewProviderTokens?) {
        self.handle = handle
        self.purpose = purpose
        self.open = open
    }
}
