package import Primitives

/// Everything Latchkey stores: the sum of the roles, for the code that puts the use cases together.
///
/// A use case takes only the roles it uses, such as `any SessionStore & UserStore`. In every role:
///
/// - A call is atomic and, once it returns, durable.
/// - "Not found" is a result (nil or a case). A ``StorageError`` means that the store cannot tell; it must never be
///   taken for "signed out".
package protocol Store: AuditStore, IdentityStore, IssuerBindingStore, KeyStore, MaintainedStore, OneTimeRecordStore,
    SessionStore, SignInStore, UserStore
{}

/// A store that is checked and cleaned up from time to time.
package protocol MaintainedStore: Sendable {
    /// Returns if the store answers, both where it is read and where it is written. Nothing is written.
    func check() async throws(StorageError)

    /// Removes at most `limit` rows of each kind that expired before `now`. Returns their number.
    func purgeExpired(at now: Timestamp, limit: Int) async throws(StorageError) -> Int
}

/// The audit log.
package protocol AuditStore: Sendable {
    /// Adds an event. A call that changes an account adds its own event in the same transaction instead.
    func addAuditEvent(_ event: AuditEvent) async throws(StorageError)

    /// The events that match a query, the latest first.
    func auditEvents(_ query: AuditQuery) async throws(StorageError) -> [RecordedAuditEvent]

    /// Removes at most `limit` of the oldest events from before a moment, and as many of the seals of that time; the
    /// newest seal stays. Returns the number of removed rows. Only for a server that does not seal the log.
    func purgeAuditEvents(from before: Timestamp, limit: Int) async throws(StorageError) -> Int
}

/// Which issuer each mobile network has, and the keys and hosts that each issuer is bound to.
package protocol IssuerBindingStore: Sendable {
    /// What is stored of a network and of an issuer.
    func knownIssuer(of network: String, _ issuer: String) async throws(StorageError) -> KnownIssuer

    /// Stores the issuer of a network, and its binding, by the rule of ``KnownIssuer/change(by:)``.
    /// - Parameter limit: How many networks and issuers are stored at most; further ones are not.
    /// - Returns: What is stored afterwards.
    func bindIssuer(
        _ binding: IssuerBinding, to network: String, limit: Int, at now: Timestamp
    ) async throws(StorageError) -> KnownIssuer

    /// Removes an issuer's binding if it is of first use, and the networks of the issuer with it.
    func removeFirstUse(of issuer: String) async throws(StorageError)
}

/// The keys that sign receipts and seals of the audit log, and the API keys that administrators make and revoke while
/// servers run.
package protocol KeyStore: Sendable {
    /// All signing keys, the newest last.
    func signingKeys() async throws(StorageError) -> [SigningKeyRecord]

    /// Adds a key with its audit event, if the newest key is still the one that the caller knows.
    /// - Parameter newest: The id of that key; nil if there was none.
    /// - Returns: False if another process added a key first; then nothing was stored.
    func addSigningKey(
        _ key: SigningKeyRecord, after newest: String?, recording event: AuditEvent
    ) async throws(StorageError) -> Bool

    /// Removes signing keys, each with its audit event; skips unknown ids.
    /// - Parameter event: The event of the removal of a key.
    func removeSigningKeys(
        _ ids: [String], recording event: @escaping @Sendable (String) -> AuditEvent
    ) async throws(StorageError)

    /// The API keys that are not revoked, at most `limit`.
    func apiKeys(limit: Int) async throws(StorageError) -> [StoredAPIKey]
}

/// A change of the database, by any process.
package enum StoreChange: Sendable, Hashable {
    /// The user's profile has changed, or sessions of the user have ended.
    case user(UserID)
    /// Some changes may have gone unreported.
    case anything
}

/// The sessions of signed-in users, with their refresh tokens (RFC 9700 section 4.14.2).
package protocol SessionStore: Sendable {
    /// The session of a token and its user; nil if unknown, revoked or expired at `now`.
    func session(_ token: TokenHash, at now: Timestamp) async throws(StorageError) -> SessionAndUser?

    /// Stores one more session of a user, if the earlier one still exists and no session of the user was ended since.
    func addSession(_ session: NewSession, besides earlier: GivenSession) async throws(StorageError) -> SessionAddition

    /// Revokes a user's session by its id with all its tokens, and records an audit event if there is one.
    /// - Parameter session: The id of the user's session that asks for it, which must still exist; nil if no session
    ///   asks.
    /// - Returns: Why no session was revoked, if none was; then no event is added.
    func revokeSession(
        id: String, of user: UserID, in session: String?, recording event: AuditEvent?
    ) async throws(StorageError) -> SessionRevocation

    /// Revokes all of a user's sessions but the one that asks for it, with an audit event if there were any.
    /// - Parameter id: The session that asks; nil if none does, and then all are revoked.
    /// - Returns: Their number; nil if the session that asks does not exist any more, and then none is revoked.
    func revokeSessions(
        of user: UserID, except id: String?, recording event: AuditEvent
    ) async throws(StorageError) -> Int?

    /// A user's sessions that have not expired at `now`, at most `limit`, the last seen first.
    func sessions(of user: UserID, at now: Timestamp, limit: Int) async throws(StorageError) -> [SessionSummary]

    /// Stores when sessions were last seen; skips those that have ended.
    func recordLastSeen(_ sessions: [SessionLastSeen]) async throws(StorageError)

    /// The state of a refresh token at `now`.
    func refreshToken(_ token: RefreshTokenHashes, at now: Timestamp) async throws(StorageError) -> RefreshTokenState

    /// Replaces a session's tokens. False if the presented refresh token is not the session's live one; then nothing
    /// changed.
    func rotate(_ rotation: RefreshTokenRotation) async throws(StorageError) -> Bool
}

/// Signs identities in.
package protocol SignInStore: Sendable {
    /// Whether several processes use the same database.
    var isShared: Bool { get }

    /// Signs an identity in and stores the session: finds the identity's user, moves an account to it where a port
    /// token allows that, or makes a user where `newcomers` allows that.
    /// - Returns: The user; nil if no session was stored: for an unknown identity where registration is required, for
    ///   an identity that an account was moved away from, for a live one if a session of its user was ended since the
    ///   same sign-in came first (``IdentityStore/statuses(of:)`` tells which), and for a token in place of a code that
    ///   was used before. A refused sign-in does not use its token.
    func signIn(_ signIn: SignInRecord) async throws(StorageError) -> SignedInUser?

    /// The earlier sign-in with this idempotency key, whichever process did it. Only for a shared store: in another one
    /// the process that uses it knows, after it has called ``recentSignIns(at:limit:)``.
    /// - Returns: Nil if there was none, or if its record has ended at `now`.
    func recentSignIn(_ key: [UInt8], at now: Timestamp) async throws(StorageError) -> RecentSignIn?

    /// The sign-ins whose records have not ended at `now`, the oldest first: at most the latest `limit`, and those of
    /// them whose session has ended since. Only for a store that is not shared, once, at the start of its process.
    func recentSignIns(at now: Timestamp, limit: Int) async throws(StorageError) -> [RecentSignIn]
}

/// Encrypted values that are read once.
package protocol OneTimeRecordStore: Sendable {
    /// Stores a record until it is taken or expires. False, and nothing is stored, if its handle is in use.
    /// - Parameter evicted: The handles of records that are removed in any case.
    func addOneTimeRecord(_ record: OneTimeRecord, insteadOf evicted: [TokenHash]) async throws(StorageError) -> Bool

    /// Those of the handles that have a record, for any purpose, which has not expired.
    func oneTimeRecords(among handles: [TokenHash], at now: Timestamp) async throws(StorageError) -> Set<TokenHash>

    /// The content of a record for a purpose that has not expired; nil otherwise.
    func oneTimeRecord(_ handle: TokenHash, purpose: String, at now: Timestamp) async throws(StorageError) -> [UInt8]?

    /// Removes a record and returns its content: once, for the record's purpose, before it expires; nil otherwise.
    func takeOneTimeRecord(_ handle: TokenHash, purpose: String, at now: Timestamp) async throws(StorageError)
        -> [UInt8]?

    /// Uses a token up outside of a sign-in.
    func spend(_ use: OneTimeUse, at now: Timestamp) async throws(StorageError) -> OneTimeUse.Outcome
}

/// The users' profiles and accounts, and what all processes count together.
package protocol UserStore: Sendable {
    /// Changes a user's profile; adds the audit event if a value changed.
    /// - Parameter session: The id of the user's session that asks for it. It must still exist, so that a request that
    ///   waited cannot change anything after its session was revoked.
    /// - Returns: The user after the change; nil if there is no such user or session.
    func editProfile(
        of user: UserID, in session: String, _ change: ProfileChange, recording event: AuditEvent
    ) async throws(StorageError) -> User?

    /// Erases a user with identities, sessions, refresh tokens and profile, with an audit event.
    /// - Parameter session: The id of the user's session that asks for it, which must still exist; nil for
    ///   administrators.
    /// - Returns: False if there was no such user or session.
    func deleteUser(
        _ user: UserID, in session: String?, recording event: AuditEvent?
    ) async throws(StorageError) -> Bool

    /// Counts one use of each allowance, such as those of a user and a phone number.
    /// - Returns: The seconds to wait if one of them is used up, and then the use is counted for none; nil if it fits.
    func count(_ uses: [AllowanceUse], at now: Timestamp) async throws(StorageError) -> Int64?

    /// What ``count(_:at:)`` would return. Nothing is counted.
    func wait(for uses: [AllowanceUse], at now: Timestamp) async throws(StorageError) -> Int64?
}

/// The identities that users sign in with.
package protocol IdentityStore: Sendable {
    /// The status of each identity, in their order.
    func statuses(of identities: [Identity]) async throws(StorageError) -> [IdentityStatus]

    /// The identities a user can sign in with, the oldest first.
    func identities(of user: UserID) async throws(StorageError) -> [LinkedIdentity]

    /// Adds an identity to the user who holds a session, if no user has it, with an audit event.
    func link(_ link: IdentityLink) async throws(StorageError) -> IdentityLinking

    /// Removes an identity from a user, unless it is the last, and ends the sessions that it signed in, with an audit
    /// event.
    /// - Parameter session: The id of the user's session that asks for it, which must still exist, and stays.
    func removeIdentity(
        id: String, of user: UserID, keeping session: String?,
        recording event: @escaping @Sendable (Identity) -> AuditEvent
    ) async throws(StorageError) -> IdentityRemoval
}
