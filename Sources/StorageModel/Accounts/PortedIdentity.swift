public import Primitives

/// A former identity of a user, as a verified port token names it: somebody at another carrier is now who this was.
public struct PortedIdentity: Sendable, Hashable {
    public let identity: Identity
    /// When the former carrier said so.
    public let issuedAt: Timestamp
    /// Names the port token, each of which moves an identity once.
    public let token: TokenHash

    public init(identity: Identity, issuedAt: Timestamp, token: TokenHash) {
        self.identity = identity
        self.issuedAt = issuedAt
        self.token = token
    }
}

/// What an identity is worth at present.
public enum IdentityStatus: Sendable, Hashable {
    case unknown
    /// Signs this user in.
    case live(UserID)
    /// Was this user's until a port token moved the account to another identity. It signs nobody in, and it is not free:
    /// whoever comes with it is neither its former user for sure, nor somebody new.
    case moved(UserID)
}
