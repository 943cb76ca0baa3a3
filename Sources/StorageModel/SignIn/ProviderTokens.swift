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
    /// The lease of the process that refreshes the tokens; nil if none does.
    package let lease: Lease?
    /// The last refresh request whose result was not stored; nil if there is none. It may be of an earlier refresh
    /// token than the stored one.
    package let request: Request?

    /// A process that may refresh the tokens.
    package struct Lease: Sendable, Hashable {
        /// The random id of the process; nil for one of an earlier version.
        package let holder: String?

        package init(holder: String?) { self.holder = holder }
    }

    /// A refresh request, recorded before it is sent.
    package struct Request: Sendable, Hashable {
        /// The hash of the refresh token in it.
        package let refreshToken: TokenHash
        /// When the first request with this refresh token was made.
        package let startedAt: Timestamp

        package init(refreshToken: TokenHash, startedAt: Timestamp) {
            self.refreshToken = refreshToken
            self.startedAt = startedAt
        }
    }

    package init(
        serial: Int64, binding: TokenBinding, sealed: SealedTokens, version: Int64, lease: Lease? = nil,
        request: Request? = nil
    ) {
        self.serial = serial
        self.binding = binding
        self.sealed = sealed
        self.version = version
        self.lease = lease
        self.request = request
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
