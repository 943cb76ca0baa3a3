/// The providers' tokens of users. They are stored with a sign-in and removed with their identity.
///
/// Before a process sends a refresh token, it writes a lease into the row, with the request. So no other process sends
/// the same token meanwhile, and if the process ends before it has stored the response, the next one knows that a
/// request was sent.
package protocol ProviderTokenStore: Sendable {
    /// The tokens of a user; of several identities at one provider, those stored last. Nil if there are none.
    func providerTokens(
        of user: UserID, provider: String, clientID: String
    ) async throws(StorageError) -> ProviderTokenRecord?

    /// Writes a lease and its request into a row, in place of those that it has, and increments its version. False if
    /// the row changed since that version, or is gone.
    func leaseProviderTokens(
        _ serial: Int64, version: Int64, _ lease: NewProviderTokenLease
    ) async throws(StorageError) -> Bool

    /// Ends a lease without new tokens, unless the row changed since that version.
    /// - Parameter keepingRequest: Whether the request stays on record, because its result is not known.
    func endProviderTokenLease(
        _ serial: Int64, version: Int64, keepingRequest: Bool
    ) async throws(StorageError)

    /// Replaces a row's tokens, ends its lease, removes the request, and increments its version. False if the row
    /// changed since that version, or is gone.
    func replaceProviderTokens(
        _ serial: Int64, version: Int64, with sealed: SealedTokens
    ) async throws(StorageError) -> Bool

    /// Deletes a row and records the event. False if it changed since that version, or is gone; then nothing is
    /// recorded.
    func deleteProviderTokens(
        _ serial: Int64, version: Int64, recording event: AuditEvent
    ) async throws(StorageError) -> Bool
}
