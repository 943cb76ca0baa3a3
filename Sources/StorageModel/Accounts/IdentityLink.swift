package import Primitives

/// An identity to add to the user who holds a session.
package struct IdentityLink: Sendable {
    package let identity: Identity
    /// The session that the request presents; it must not have ended.
    package let session: TokenHash
    package let user: UserID
    package let time: Timestamp
    /// The most identities of a user.
    package let limit: Int
    /// For the audit log.
    package let requestID: String?
    /// The provider's tokens, if they are stored. They replace none, because the same link may come twice.
    package let tokens: NewProviderTokens?
    /// As ``SignInRecord/provenPhoneNumber``. It becomes the user's verified number.
    package var provenPhoneNumber: String?

    package init(
        _ identity: Identity, to user: UserID, holding session: TokenHash, at time: Timestamp, limit: Int,
        requestID: String?, tokens: NewProviderTokens? = nil
    ) {
        self.tokens = tokens
        self.identity = identity
        self.user = user
        self.session = session
        self.time = time
        self.limit = limit
        self.requestID = requestID
    }
}

/// The result of linking an identity.
package enum IdentityLinking: Sendable, Hashable {
    case linked(LinkedIdentity)
    /// The user has the identity already; nothing was changed.
    case wasLinked(LinkedIdentity)
    /// Another user has the identity, or an account was moved away from it.
    case isTaken
    /// The user has as many identities as allowed.
    case tooMany
    /// The session was revoked or expired, or its user erased.
    case unknownSession
}

extension AuditEvent.Kind {
    /// A user added a way to sign in.
    package static let identityLinked = AuditEvent.Kind("identity.linked")
    /// A user tried to add another user's identity.
    package static let identityLinkRefused = AuditEvent.Kind("identity.link_refused")
}
