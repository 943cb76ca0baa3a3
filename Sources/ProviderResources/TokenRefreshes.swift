import Primitives
import SignIn
import Storage
import StorageModel
import Synchronization

/// The refreshes of provider tokens in this process, one at a time for each row; and new tokens that could not be
/// stored.
final class TokenRefreshes: Sendable {
    /// How many rows' tokens are kept while the store does not work. The oldest give way, because a row may be deleted
    /// before its tokens are needed again.
    static let capacity = 1000

    /// Names this process in leases.
    let holder: String
    /// The first pause before a try to store what could not be stored.
    private let pause: Duration
    private let refreshes = SingleFlight<Int64, Result<ProviderTokens, SignInError>>()
    /// New tokens for a row of this version: the provider issued them, and the store did not take them.
    private let unsaved = Mutex(BoundedCache<Int64, (version: Int64, sealed: SealedTokens)>(capacity: capacity))

    init(random: RandomSource, pause: Duration = .milliseconds(250)) {
        holder = random.token(bytes: 16)
        self.pause = pause
    }

    /// Does `work` for a row, or waits for the work under way. It goes on after its callers have gone: the refresh
    /// token that was sent may be spent, so the response must be stored.
    func share(
        _ serial: Int64, _ work: @escaping @Sendable () async -> Result<ProviderTokens, SignInError>
    ) async throws(SignInError) -> ProviderTokens {
        try await refreshes.value(for: serial, work).get()
    }

    /// Keeps tokens that could not be stored, and stores them when the store works again. No other process has them,
    /// and one that takes the lease would send the refresh token again.
    func keepUnsaved(_ sealed: SealedTokens, _ serial: Int64, version: Int64, in store: SQLStore) {
        unsaved.withLock { $0.put((version, sealed), for: serial) }
        Task {
            var pause = pause
            while holdsUnsaved(serial, version: version) {
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(2))
                do throws(StorageError) {
                    _ = try await saveUnsaved(serial, version: version, in: store)
                } catch {
                    if error.code == .closed { return }
                }
            }
        }
    }

    /// Whether tokens are kept for a row of this version.
    func holdsUnsaved(_ serial: Int64, version: Int64) -> Bool {
        unsaved.withLock { $0[serial]?.version == version }
    }

    /// Stores what is kept for a row of this version. False if nothing is kept. If the row has changed since, what is
    /// kept is dropped.
    func saveUnsaved(
        _ serial: Int64, version: Int64, in store: SQLStore
    ) async throws(StorageError) -> Bool {
        guard let kept = unsaved.withLock({ $0[serial] }), kept.version == version else { return false }
        _ = try await store.replaceProviderTokens(serial, version: version, with: kept.sealed)
        unsaved.withLock { unsaved in
            if unsaved[serial]?.version == version { unsaved.remove(serial) }
        }
        return true
    }
}

/// The providers' tokens of users. They are stored with a sign-in and removed with their identity.
///
/// Before a process sends a refresh token, it writes a lease into the row, with the request. So no other process sends
/// the same token meanwhile, and if the process ends before it has stored the response, the next one knows that a
/// request was sent.
extension SQLStore {
    /// The tokens of a user; of several identities at one provider, those stored last. Nil if there are none.
    func providerTokens(
        of user: UserID, provider: String, clientID: String
    ) async throws(StorageError) -> ProviderTokenRecord? {
        try await reads.submit { db in
            try db.first(
                """
                \(ProviderTokensTable.select) WHERE user_id = ? AND provider = ? AND client_id = ? \
                ORDER BY stored_at DESC, serial DESC LIMIT 1
                """, user, provider, clientID, read: ProviderTokenRecord.init)
        }
    }

    func providerTokens(of user: UserID) async throws(StorageError) -> [ProviderTokenRecord] {
        try await reads.submit { db in
            try db.all("\(ProviderTokensTable.select) WHERE user_id = ?", user, read: ProviderTokenRecord.init)
        }
    }

    /// Writes a lease and its request into a row, in place of those that it has, and increments its version. False if
    /// the row changed since that version, or is gone.
    /// - Parameters:
    ///   - holder: The random id of the process.
    ///   - request: What the holder is about to send.
    ///   - end: For processes of earlier versions only: when they may take the row. The clocks of two processes may
    ///     differ.
    func leaseProviderTokens(
        _ serial: Int64, version: Int64, to holder: String, sending request: ProviderTokenRecord.Request,
        until end: Timestamp
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            try db.run(
                """
                UPDATE provider_tokens SET version = version + 1, claimed_until = ?, refresh_holder = ?, \
                refresh_hash = ?, refresh_started_at = ? WHERE serial = ? AND version = ?
                """, end, holder, request.refreshToken, request.startedAt, serial, version) > 0
        }
    }

    /// Ends a lease without new tokens, unless the row changed since that version.
    /// - Parameter keepingRequest: Whether the request stays on record, because its result is not known.
    func endProviderTokenLease(
        _ serial: Int64, version: Int64, keepingRequest: Bool
    ) async throws(StorageError) {
        try await writes.submit { db in
            let request = keepingRequest ? "" : ", refresh_hash = NULL, refresh_started_at = NULL"
            try db.perform(
                """
                UPDATE provider_tokens SET claimed_until = NULL, refresh_holder = NULL\(request) \
                WHERE serial = ? AND version = ?
                """, serial, version)
        }
    }

    /// Replaces a row's tokens, ends its lease, removes the request, and increments its version. False if the row
    /// changed since that version, or is gone.
    func replaceProviderTokens(
        _ serial: Int64, version: Int64, with sealed: SealedTokens
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            try db.run(
                """
                UPDATE provider_tokens SET key_id = ?, content = ?, expires_at = ?, version = version + 1, \
                claimed_until = NULL, refresh_holder = NULL, refresh_hash = NULL, refresh_started_at = NULL \
                WHERE serial = ? AND version = ?
                """, sealed.keyID, sealed.content, sealed.expiresAt, serial, version) > 0
        }
    }

    /// Deletes a row and records the event. False if it changed since that version, or is gone; then nothing is
    /// recorded.
    func deleteProviderTokens(
        _ serial: Int64, version: Int64, recording event: AuditEvent
    ) async throws(StorageError) -> Bool {
        try await writes.submit { db in
            let isDeleted =
                try db.run("DELETE FROM provider_tokens WHERE serial = ? AND version = ?", serial, version) > 0
            if isDeleted { try AuditTable.insert(event, in: db) }
            return isDeleted
        }
    }
}
