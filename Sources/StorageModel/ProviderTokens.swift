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
    public let place: TokenBinding
    public let sealed: SealedTokens
    /// Counts the changes: who changes the row says which version they have seen.
    public let version: Int64

    public init(serial: Int64, place: TokenBinding, sealed: SealedTokens, version: Int64) {
        self.serial = serial
        self.place = place
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
    public let note: TokenHash
    public let purpose: String
    /// What is to be stored of the note's content; nil if it is nothing of that kind.
    public let open: @Sendable ([UInt8]) -> NewProviderTokens?

    public init(note: TokenHash, purpose: String, open: @escaping @Sendable ([UInt8]) -> NewProviderTokens?) {
        self.note = note
        self.purpose = purpose
        self.open = open
    }
}

/// What is remembered of providers' tokens. They come with a sign-in and go with the identity they belong to.
///
/// As with ``Store``, an error says only "cannot tell". Whoever refreshes tokens claims the row first, so that no other
/// process sends the same refresh token meanwhile.
public protocol ProviderTokenStore: Sendable {
    /// The tokens of a user; of several identities at one provider, those that came last. Nil if there are none.
    func providerTokens(
        of user: UserID, provider: String, clientID: String
    ) async throws(StorageError) -> ProviderTokenRecord?

    /// Claims a row for its caller until a moment, and counts its version up. False if it was changed since that version,
    /// or is claimed at `now`.
    func claimProviderTokens(
        _ serial: Int64, version: Int64, until end: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> Bool

    /// Gives a claim up.
    func releaseProviderTokens(_ serial: Int64, version: Int64) async throws(StorageError)

    /// Puts other tokens into a row, ends its claim, and counts its version up. False if it was changed since that
    /// version, or is gone.
    func replaceProviderTokens(
        _ serial: Int64, version: Int64, with sealed: SealedTokens
    ) async throws(StorageError) -> Bool

    /// Deletes a row. False if it was changed since that version, or is gone.
    func deleteProviderTokens(_ serial: Int64, version: Int64) async throws(StorageError) -> Bool
}
