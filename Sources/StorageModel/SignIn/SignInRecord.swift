package import Primitives

/// A verified identity to sign in with a new session.
package struct SignInRecord: Sendable {
    /// What happens to unknown identities.
    package enum Newcomers: Sendable, Hashable {
        /// An unknown identity becomes a user with this public id.
        case welcome(publicID: String)
        /// An unknown identity is refused.
        case mustRegister
    }

    package let identity: Identity
    /// What the provider tells of the user, for the user's profile (``TrackedUser``).
    package let profile: Profile?
    /// Which of it the provider verified.
    package var verified = VerifiedFlags()
    /// The provider's further claims; nil if there are none.
    package var claims: ClaimsUpdate?
    /// The phone number that the mobile network has proven to be the user's; nil if none did. No other user keeps it as
    /// verified.
    package var provenPhoneNumber: String?
    package let session: NewSession
    package var newcomers: Newcomers
    /// Former identities of the user, in the order of their port tokens; the first stored one loses its account to
    /// ``identity``, unless that has an account already.
    package var portedFrom: [PortedIdentity]
    /// For the audit event.
    package let requestID: String?
    /// The provider's tokens, if they are stored.
    package let tokens: NewProviderTokens?
    /// The provider's session, if the ID token has a `sid`.
    package var providerSession: ProviderSessionHash?
    /// Used up with the session, so that a token that stands in for a code signs in once; nil for a code. If it was
    /// used up before, the sign-in is refused.
    package var tokenUse: OneTimeUse?
    /// Set where the same sign-in may be sent again.
    package var idempotency: IdempotencyRecord?
    /// For how long the store may delay the commit for other sign-ins that share it, in nanoseconds.
    package var commitDelay: UInt64 = 0

    package init(
        identity: Identity, profile: Profile?, session: NewSession, newcomers: Newcomers,
        portedFrom: [PortedIdentity] = [], requestID: String? = nil, tokens: NewProviderTokens? = nil
    ) {
        self.tokens = tokens
        self.portedFrom = portedFrom
        self.requestID = requestID
        self.identity = identity
        self.profile = profile
        self.session = session
        self.newcomers = newcomers
    }
}

/// The user of a sign-in.
package struct SignedInUser: Sendable, Hashable {
    package let user: User
    /// Whether the sign-in created the user; for a repeated one, whether the first one did.
    package var isNew: Bool
    /// Whether this sign-in moved the account to another identity.
    package let wasMoved: Bool
    /// Whether this sign-in changed a stored profile.
    package let isChanged: Bool
    /// The other users who had the phone number as verified, and have it no longer.
    package var formerHolders: [UserID] = []
    /// The session that a retry of this sign-in refers to, if it has an idempotency record.
    package var given: GivenSession?

    package init(user: User, isNew: Bool, wasMoved: Bool = false, isChanged: Bool = false) {
        self.user = user
        self.isNew = isNew
        self.wasMoved = wasMoved
        self.isChanged = isChanged
    }
}

/// The one use of something.
package enum OneTimeUse: Sendable, Hashable {
    /// Of what a record marks as used. It was used before if the record's handle is in use.
    case marking(OneTimeRecord)
    /// Of a record. It was used before if there is none of the purpose, or it has expired.
    case taking(TokenHash, purpose: String)
}

/// An encrypted value that is read once, by its handle; the store cannot decrypt it. Without content, something that is
/// good for once.
package struct OneTimeRecord: Sendable, Hashable {
    package let handle: TokenHash
    /// What the value is for; a look-up with another purpose finds nothing.
    package let purpose: String
    package let content: [UInt8]
    package let expiresAt: Timestamp

    /// The bytes that a database needs for a record besides its content, with its indexes.
    package static let overhead = 248

    package init(handle: TokenHash, purpose: String, content: [UInt8], expiresAt: Timestamp) {
        self.handle = handle
        self.purpose = purpose
        self.content = content
        self.expiresAt = expiresAt
    }
}
