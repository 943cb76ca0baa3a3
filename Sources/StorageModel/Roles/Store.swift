package import Primitives

/// Everything Latchkey stores: the sum of the roles, for the code that puts the use cases together.
///
/// A use case takes only the roles it uses, such as `any SessionStore & RefreshTokenStore`. In every role:
///
/// - A call is atomic and, once it returns, durable.
/// - "Not found" is a result (nil or a case). A ``StorageError`` means that the store cannot tell; it must never be
///   taken for "signed out".
package protocol Store: AllowanceStore, APIKeyStore, AuditStore, IdentityStore, IssuerBindingStore, MaintainedStore,
    OneTimeRecordStore, RefreshTokenStore, SessionStore, SigningKeyStore,
    SignInStore, UserStore
{}

/// A store that is checked and cleaned up from time to time.
package protocol MaintainedStore: Sendable {
    /// Returns if the store can be read and written.
    func check() async throws(StorageError)

    /// Removes at most `limit` rows of each kind that expired before `now`. Returns their number.
    func purgeExpired(at now: Timestamp, limit: Int) async throws(StorageError) -> Int
}

/// The API keys that administrators make and revoke while servers run.
package protocol APIKeyStore: Sendable {
    /// The keys that are not revoked, at most `limit`.
    func apiKeys(limit: Int) async throws(StorageError) -> [StoredAPIKey]
}

/// What all processes count together.
package protocol AllowanceStore: Sendable {
    /// Counts one use of each allowance, such as those of a user and a phone number.
    /// - Returns: The seconds to wait if one of them is used up, and then the use is counted for none; nil if it fits.
    func count(_ uses: [AllowanceUse], at now: Timestamp) async throws(StorageError) -> Int64?

    /// What ``count(_:at:)`` would return. Nothing is counted.
    func wait(for uses: [AllowanceUse], at now: Timestamp) async throws(StorageError) -> Int64?
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

/// The keys that sign receipts and seals of the audit log.
package protocol SigningKeyStore: Sendable {
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
}

/// A change of the database, by any process.
package enum StoreChange: Sendable, Hashable {
    /// The user's profile has changed, or sessions of the user have ended.
    case user(UserID)
    /// Some changes may have gone unreported.
    case anything
}
