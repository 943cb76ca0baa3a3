/// A verified identity to be signed in with a session of its own.
public struct SignInRecord: Sendable {
    public enum Newcomers: Sendable, Hashable {
        /// An unknown identity becomes a user with this public id.
        case welcome(publicID: String)
        /// An unknown identity is turned away.
        case mustRegister
    }

    public let identity: Identity
    /// Fills what the user's profile does not have yet; nothing the user has is overwritten.
    public let profile: Profile?
    public let session: NewSession
    public let newcomers: Newcomers
    /// Former identities of the user, in the order of the port tokens that name them; the first one that is on record
    /// loses its account to ``identity``, unless that has an account already.
    public let portedFrom: [PortedIdentity]
    /// For the audit record.
    public let requestID: String?
    /// The provider's tokens, where they are kept.
    public let tokens: NewProviderTokens?
    /// The provider's own session, if it named it (`sid`).
    public var providerSession: ProviderSessionHash?
    /// Set where the same sign-in may be sent again.
    public var idempotency: IdempotencyRecord?

    public init(
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

public struct SignedInUser: Sendable, Hashable {
    public let user: User
    public let isNew: Bool
    /// Whether this sign-in has moved the account to another identity.
    public let wasMoved: Bool
    /// The session that a retry of this sign-in refers to, if it has an idempotency record.
    public package(set) var given: GivenSession?

    public init(user: User, isNew: Bool, wasMoved: Bool = false) {
        self.user = user
        self.isNew = isNew
        self.wasMoved = wasMoved
    }
}
