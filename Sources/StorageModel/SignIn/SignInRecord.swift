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
    /// Made with the session, so that a token that stands in for a code signs in once; nil for a code. If it was made
    /// before, the sign-in is refused.
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

/// The one use of a token that stands in for a code, and of the nonce in it.
///
/// The record of a nonce that must have been issued stays, and from then on it marks the token: one row is changed, and
/// none is added. Another token has a mark of its own.
package struct OneTimeUse: Sendable, Hashable {
    package enum Nonce: Sendable, Hashable {
        /// Must have been issued for this purpose, and be good still.
        case issued(TokenHash, purpose: String)
        /// Need not have been issued, but may have been, under one of these handles. If it was, it is used up: then the
        /// token cannot be used again where the nonce must have been issued.
        case any([TokenHash])
    }

    /// Marks the token as used, unless the record of its nonce does.
    package let mark: OneTimeRecord
    package var nonce: Nonce

    package init(_ mark: OneTimeRecord, nonce: Nonce = .any([])) {
        self.mark = mark
        self.nonce = nonce
    }

    /// The purpose of the record of a nonce that is used up. It names the token.
    package var usedPurpose: String { "used by \(mark.handle.bytes.hexadecimal)" }

    package enum Outcome: Sendable, Hashable {
        case used
        /// The token was used before.
        case tokenUsedBefore
        /// The nonce was not issued, has expired, or was used by another token.
        case nonceNotIssued
    }
}

/// The record of a nonce that the server issued. It is not encrypted, because it contains nothing secret: the hash of
/// the nonce, and a time.
package enum IssuedNonce {
    /// The text is stored, and other versions of the server read it: it never changes.
    package static func purpose(_ provider: String) -> String { purposes + provider }

    package static let purposes = "nonce for "

    /// - Parameters:
    ///   - end: Until when the nonce is good.
    ///   - seconds: For how long its record marks a token after that.
    package static func record(
        of nonce: String, for provider: String, until end: Timestamp, marking seconds: Int64
    ) -> OneTimeRecord {
        OneTimeRecord(
            handle: TokenHash(sha256Of: nonce), purpose: purpose(provider), content: content(of: end),
            expiresAt: end.advanced(bySeconds: seconds))
    }

    /// The end in the content of a record. Later ends are greater, by their bytes.
    package static func content(of end: Timestamp) -> [UInt8] {
        withUnsafeBytes(of: end.secondsSinceEpoch.bigEndian) { Array($0) }
    }

    /// Whether a record that was taken before it expired is of a nonce that is good still. Versions up to 38 stored no
    /// content.
    package static func isGood(_ content: [UInt8], at now: Timestamp) -> Bool {
        content.isEmpty || self.content(of: now).lexicographicallyPrecedes(content)
    }
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
