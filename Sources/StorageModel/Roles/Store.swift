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

/// A change of the database, by any process.
package enum StoreChange: Sendable, Hashable {
    /// The user's profile has changed, or sessions of the user have ended.
    case user(UserID)
    /// Some changes may have gone unreported.
    case anything
}
