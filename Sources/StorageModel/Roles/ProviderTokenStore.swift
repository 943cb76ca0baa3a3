package import Primitives

/// The providers' tokens of users. They are stored with a sign-in and removed with their identity.
///
/// A process claims the row before it refreshes the tokens, so that no other process sends the same refresh token.
package protocol ProviderTokenStore: Sendable {
    /// The tokens of a user; of several identities at one provider, those stored last. Nil if there are none.
    func providerTokens(
        of user: UserID, provider: String, clientID: String
    ) async throws(StorageError) -> ProviderTokenRecord?

    /// Claims a row until a moment and increments its version. False if the row changed since that version, or is
    /// claimed at `now`.
    func claimProviderTokens(
        _ serial: Int64, version: Int64, until end: Timestamp, at now: Timestamp
    ) async throws(StorageError) -> Bool

    func releaseProviderTokens(_ serial: Int64, version: Int64) async throws(StorageError)

    /// Replaces a row's tokens, ends its claim, and increments its version. False if the row changed since that
    /// version, or is gone.
    func replaceProviderTokens(
        _ serial: Int64, version: Int64, with sealed: SealedTokens
    ) async throws(StorageError) -> Bool

    /// Deletes a row. False if it changed since that version, or is gone.
    func deleteProviderTokens(_ serial: Int64, version: Int64) async throws(StorageError) -> Bool
}
