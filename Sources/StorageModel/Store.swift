public import Primitives

/// What Latchkey remembers. Every call either happens whole or not at all, and what it returned is on disk.
///
/// "Not found" is a result (nil or a case); an error says only "cannot tell", and must never be taken for "signed out".
public protocol Store: TransactionStore, ProviderTokenStore {
    /// Whether other processes write to the same database as a matter of course.
    var isShared: Bool { get }

    /// Signs an identity in: finds its user, or moves one's account to it where a port token says so, or makes one where
    /// `newcomers` allows, and stores the session.
    /// - Returns: The user, or nil for an unknown identity where registration is required, for one that an account was
    ///   moved away from, and for a live one if a session of the user's was ended since the very same sign-in came before;
    ///   then no session was stored. ``standings(of:)`` tells which.
    func signIn(_ signIn: SignInRecord) async throws(StorageError) -> SignedInUser?

    /// What identities are worth at present, in their order.
    func statuses(of identities: [Identity]) async throws(StorageError) -> [IdentityStatus]

    /// What a sign-in of this fingerprint gave, whichever process did it; nil if there was none, or too long before `now`.
    func recentSignIn(_ fingerprint: [UInt8], at now: Timestamp) async throws(StorageError) -> RecentSignIn?

    /// Stores one more session of a user, if the one that a sign-in gave still stands, and none has been ended since.
    func addSession(
        _ session: NewSession, besides earlier: GivenSession
    ) async throws(StorageError) -> SessionAddition

    /// The session of a token and its user; nil if unknown, revoked or expired at `now`.
    func session(_ token: TokenHash, at now: Timestamp) async throws(StorageError) -> SessionAndUser?

    /// Revokes the session of a token, with its refresh token. False if there was none.
    func revokeSession(_ token: TokenHash) async throws(StorageError) -> Bool

    /// Revokes a user's session by its id, and records that. False if the user has none of this id; then nothing is
    /// recorded.
    func revokeSession(
        id: String, of user: UserID, recording event: AuditEvent
    ) async throws(StorageError) -> Bool

    /// Revokes all of a user's sessions but one, and records that if there were any. Returns how many went.
    func revokeSessions(
        of user: UserID, except id: String, recording event: AuditEvent
    ) async throws(StorageError) -> Int

    /// A user's sessions that have not expired at `now`, at most `limit`, the latest seen first.
    func sessions(of user: UserID, at now: Timestamp, limit: Int) async throws(StorageError) -> [SessionSummary]

    /// Takes down when sessions were last used; those that are gone are passed over.
    func recordLastSeen(_ sightings: [SessionLastSeen]) async throws(StorageError)

    /// What a refresh token is worth at `now`.
    func refreshToken(_ token: RefreshTokenHashes, at now: Timestamp) async throws(StorageError) -> RefreshTokenState

    /// Puts new tokens in the place of a session's. False if the refresh token is not the session's live one (any
    /// more); then nothing changed.
    func rotate(_ rotation: RefreshTokenRotation) async throws(StorageError) -> Bool

    /// Changes a user's profile, and records that if anything became different. The user as now on record, or nil if
    /// there is none.
    func editProfile(
        of user: UserID, _ change: ProfileChange, recording event: AuditEvent
    ) async throws(StorageError) -> User?

    /// The identities a user can sign in with, the oldest first.
    func identities(of user: UserID) async throws(StorageError) -> [LinkedIdentity]

    /// Adds an identity to the user who holds a session, if it is nobody's, and records that.
    func link(_ link: IdentityLink) async throws(StorageError) -> IdentityLinking

    /// Takes an identity from a user, unless it is the last, with the sessions that it signed in but for one, and records
    /// that.
    func removeIdentity(
        id: String, of user: UserID, keeping session: String?,
        recording event: @escaping @Sendable (Identity) -> AuditEvent
    ) async throws(StorageError) -> IdentityRemoval

    /// Ends sessions because a provider says so, once for each logout token, and records that.
    func end(_ logout: ProviderLogout) async throws(StorageError) -> ProviderLogoutResult

    /// Erases a user: identities, sessions, refresh tokens, profile; and records that. False if there was none.
    func deleteUser(_ user: UserID, recording event: AuditEvent?) async throws(StorageError) -> Bool

    /// Remembers a verified identity until its owner registers.
    func addPendingRegistration(_ registration: PendingRegistration) async throws(StorageError)

    /// Ends a pending registration by making the user and the session, and stores the tokens that wait with it. The
    /// handle is spent by `.registered` and `.userAlreadyExists`.
    func register(
        handle: TokenHash, profile: Profile, session: NewSession, publicID: String, tokens: WaitingProviderTokens?,
        at now: Timestamp
    ) async throws(StorageError) -> RegistrationResult

    /// What is pending under a handle, without spending it; nil if unknown, used or expired at `now`.
    func pendingRegistration(_ handle: TokenHash, at now: Timestamp) async throws(StorageError) -> PendingRegistration?

    /// Remembers a handed-out nonce.
    func addIssuedNonce(_ attempt: IssuedNonceRecord) async throws(StorageError)

    /// Spends a handed-out nonce: true once, for the provider it was made for, before it expires.
    func takeIssuedNonce(nonce: TokenHash, provider: String, at now: Timestamp) async throws(StorageError) -> Bool

    /// Adds an event to the record. What changes an account adds its event in the same transaction instead.
    func addAuditEvent(_ event: AuditEvent) async throws(StorageError)

    /// The events that a query asks for, the latest first.
    func auditEvents(_ query: AuditQuery) async throws(StorageError) -> [RecordedAuditEvent]

    /// Removes events from before a moment, at most `limit`. Returns how many went.
    func purgeAuditEvents(from before: Timestamp, limit: Int) async throws(StorageError) -> Int

    /// Keeps a note until it is taken or expires. False, and nothing is kept, if there is one of its handle.
    func addOneTimeRecord(_ note: OneTimeRecord) async throws(StorageError) -> Bool

    /// Takes a note out: its content once, for the purpose it was kept for, before it expires; nil otherwise.
    func takeOneTimeRecord(_ handle: TokenHash, purpose: String, at now: Timestamp) async throws(StorageError)
        -> [UInt8]?

    /// Puts a server-initiated sign-in on record, unless there are too many.
    func addBackchannelAuthentication(
        _ record: BackchannelAuthenticationRecord, limits: BackchannelAuthenticationLimits, at now: Timestamp
    ) async throws(StorageError) -> BackchannelAuthenticationAdmission

    /// The server-initiated sign-in of a handle; nil if unknown or removed at `now`.
    func backchannelAuthentication(handle: TokenHash, at now: Timestamp) async throws(StorageError)
        -> BackchannelAuthenticationRecord?

    /// The server-initiated sign-in whose latest attempt has this notification token; nil if unknown or removed at
    /// `now`.
    func backchannelAuthentication(notification: TokenHash, at now: Timestamp) async throws(StorageError)
        -> BackchannelAuthenticationRecord?

    /// Writes what became of a server-initiated sign-in, and counts its revision up. False, and nothing is written, if
    /// it was changed since it was read.
    func replaceBackchannelAuthentication(_ record: BackchannelAuthenticationRecord) async throws(StorageError) -> Bool

    /// Does ``replaceBackchannelAuthentication(_:)`` and ``signIn(_:)`` together.
    func endBackchannelAuthentication(
        _ record: BackchannelAuthenticationRecord, with signIn: SignInRecord
    ) async throws(StorageError) -> BackchannelAuthenticationEnding

    /// Counts a change of a user's account, whichever process it is made in.
    /// - Returns: For how many seconds to wait, if there were too many; then it was not counted.
    func countChange(
        of user: UserID, within allowance: ChangeAllowance, at now: Timestamp
    ) async throws(StorageError) -> Int64?

    /// The API keys that are not revoked, at most `limit`.
    func apiKeys(limit: Int) async throws(StorageError) -> [StoredAPIKey]

    /// Answers if the store can be read and written.
    func check() async throws(StorageError)

    /// Removes what expired before `now`, at most `limit` rows of each kind. Returns how many went.
    func purgeExpired(at now: Timestamp, limit: Int) async throws(StorageError) -> Int
}

extension Store {
    /// Erases a user without a record of it.
    public func deleteUser(_ user: UserID) async throws(StorageError) -> Bool {
        try await deleteUser(user, recording: nil)
    }

    /// Ends a pending registration with which no tokens wait.
    public func register(
        handle: TokenHash, profile: Profile, session: NewSession, publicID: String, at now: Timestamp
    ) async throws(StorageError) -> RegistrationResult {
        try await register(
            handle: handle, profile: profile, session: session, publicID: publicID, tokens: nil, at: now)
    }
}

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
    public var providerSession: ProviderSessionMark?
    /// Where the very same sign-in may be sent again.
    public var mark: IdempotencyRecord?

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

/// Whether a user got one more session.
public enum SessionAddition: Sendable, Hashable {
    case added(User)
    /// The earlier one has ended, or another one since: no session was made.
    case earlierEnded
    case unknownUser
}

public struct SignedInUser: Sendable, Hashable {
    public let user: User
    public let isNew: Bool
    /// Whether this sign-in has moved the account to another identity.
    public let wasMoved: Bool
    /// What was taken down for the very same sign-in sent again, if it has a mark.
    public package(set) var given: GivenSession?

    public init(user: User, isNew: Bool, wasMoved: Bool = false) {
        self.user = user
        self.isNew = isNew
        self.wasMoved = wasMoved
    }
}

public struct SessionAndUser: Sendable, Hashable {
    public let session: Session
    public let user: User

    public init(session: Session, user: User) {
        self.session = session
        self.user = user
    }
}

/// A verified identity that waits for its owner to register.
public struct PendingRegistration: Sendable, Hashable {
    public let handle: TokenHash
    public let identity: Identity
    public let clientID: String
    /// What the carrier told, as a start for the form.
    public let profile: Profile
    public let expiresAt: Timestamp
    /// The provider's own session, if it named it (`sid`).
    public var providerSession: ProviderSessionMark?

    public init(handle: TokenHash, identity: Identity, clientID: String, profile: Profile, expiresAt: Timestamp) {
        self.handle = handle
        self.identity = identity
        self.clientID = clientID
        self.profile = profile
        self.expiresAt = expiresAt
    }
}

public enum RegistrationResult: Sendable, Hashable {
    case registered(User)
    /// The identity became a user in the meantime.
    case userAlreadyExists
    /// Unknown, used or expired.
    case unknownHandle
}

/// A nonce of our own, handed out before a sign-in.
public struct IssuedNonceRecord: Sendable, Hashable {
    public let nonce: TokenHash
    public let provider: String
    public let expiresAt: Timestamp

    public init(nonce: TokenHash, provider: String, expiresAt: Timestamp) {
        self.nonce = nonce
        self.provider = provider
        self.expiresAt = expiresAt
    }
}
