package import Primitives

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

    /// Removes a record and returns its content: once, for the record's purpose, before it expires; nil otherwise.
    func takeOneTimeRecord(_ handle: TokenHash, purpose: String, at now: Timestamp) async throws(StorageError)
        -> [UInt8]?
}
