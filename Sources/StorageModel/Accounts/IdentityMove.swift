package import Primitives

/// A former identity of a user, from a verified port token of the former carrier.
package struct PortedIdentity: Sendable, Hashable {
    package let identity: Identity
    /// When the former carrier issued the port token.
    package let issuedAt: Timestamp
    /// Identifies the port token, which moves an identity once.
    package let token: TokenHash

    package init(identity: Identity, issuedAt: Timestamp, token: TokenHash) {
        self.identity = identity
        self.issuedAt = issuedAt
        self.token = token
    }
}

/// The present status of an identity.
package enum IdentityStatus: Sendable, Hashable {
    /// No user has it.
    case unknown
    /// Signs this user in.
    case live(UserID)
    /// This user had it until a port token moved the account to another identity. It signs no user in, and it is not
    /// free: its present holder may be the former user or someone new.
    case moved(UserID)
}
