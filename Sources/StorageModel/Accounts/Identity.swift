public import Primitives

/// Whom an issuer says somebody is. Never the subject alone (OpenID Connect Core 1.0 section 5.7), never an e-mail
/// address.
public struct Identity: Sendable, Hashable {
    public let issuer: String
    public let subject: String

    public init(issuer: String, subject: String) {
        self.issuer = issuer
        self.subject = subject
    }
}

extension Identity: CustomStringConvertible {
    /// Without the subject, which stands in no log.
    public var description: String { "‹subject of \(issuer)›" }
}

extension Identity {
    /// Names the identity where its subject must not appear: SHA-256 of issuer, a zero byte and subject, in hexadecimal.
    ///
    /// The fingerprint of an identity is the same everywhere. It confirms a known subject; subjects are long and random,
    /// so it does not reveal an unknown one.
    public var fingerprint: String { TokenHash(sha256Of: "\(issuer)\0\(subject)").bytes.hexadecimal }
}

/// A way for a user to sign in, as the user sees it: without the subject.
public struct LinkedIdentity: Sendable, Hashable {
    /// Random; tells nothing of the subject.
    public let id: String
    public let issuer: String
    /// When it was first used or linked.
    public let createdAt: Timestamp

    public init(id: String, issuer: String, createdAt: Timestamp) {
        self.id = id
        self.issuer = issuer
        self.createdAt = createdAt
    }
}

public enum IdentityRemoval: Sendable, Hashable {
    case removed
    /// The user has no other: without it they could not sign in.
    case isLast
    /// The user has none of this id.
    case unknown
}
