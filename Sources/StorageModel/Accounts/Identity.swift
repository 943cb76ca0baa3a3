package import Primitives

/// A user as one issuer knows them: issuer and subject (OpenID Connect Core 1.0 section 5.7). Never the subject alone,
/// never an e-mail address.
package struct Identity: Sendable, Hashable, CustomStringConvertible {
    package let issuer: String
    package let subject: String

    package init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }

    /// Without the subject, which appears in no log.
    package var description: String { "‹subject of \(issuer)›" }

    /// Names the identity where its subject must not appear: SHA-256 of issuer, a zero byte and subject, in
    /// hexadecimal.
    ///
    /// The fingerprint of an identity is the same everywhere. It confirms a known subject; subjects are long and
    /// random, so it does not reveal an unknown one.
    package var fingerprint: String { TokenHash(sha256Of: "\(issuer)\0\(subject)").bytes.hexadecimal }
}

/// An identity as its user sees it: without the subject.
package struct LinkedIdentity: Sendable, Hashable {
    /// Random; reveals nothing of the subject.
    package let id: String
    package let issuer: String
    /// When it was first used or linked.
    package let createdAt: Timestamp

    package init(id: String, issuer: String, createdAt: Timestamp) {
        self.id = id
        self.issuer = issuer
        self.createdAt = createdAt
    }
}

/// The result of removing an identity from a user.
package enum IdentityRemoval: Sendable, Hashable {
    case removed
    /// The user has no other identity to sign in with.
    case isLast
    /// The user has no identity of this id.
    case unknown
    /// The session was revoked in the meantime.
    case unknownSession
}

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
