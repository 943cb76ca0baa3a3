import Primitives
import StorageModel

/// Sign-ins that this process may know nothing of: another copy did them, or this one before it was started again. The
/// store knows what each gave, for as long as the very same one may be sent again.
struct EarlierSignIns: Sendable {
    let store: any Store
    let clock: WallClock
    /// For how many seconds after it the very same sign-in may be sent again.
    let window: Int64
    let startedAt: Timestamp

    init(store: any Store, clock: WallClock, window: Int64) {
        self.store = store
        self.clock = clock
        self.window = window
        startedAt = clock.now()
    }

    /// Whether there may be any. Where nobody else writes to the store there are some only in the first moments, and what
    /// came later is remembered.
    var areLikely: Bool { store.isShared || clock.now() <= startedAt.advanced(bySeconds: window) }

    /// What a sign-in goes on record under.
    /// - Parameter wasUnknown: Whether the very same sign-in came before, when its user was not on record: who registered
    ///   since, and signed out of that, has signed out of this, too.
    func mark(_ fingerprint: IdempotencyKey, ofUnknown wasUnknown: Bool) -> IdempotencyRecord {
        IdempotencyRecord(
            fingerprint: fingerprint.bytes, endsAt: clock.now().advanced(bySeconds: window + 1),
            endings: wasUnknown ? 0 : nil)
    }

    /// What came of a sign-in, and when that was.
    /// - Throws: `temporarily_unavailable`.
    func find(_ fingerprint: IdempotencyKey) async throws(SignInError) -> (session: GivenSession, since: Timestamp)? {
        let now = clock.now()
        let found = try await storing { () async throws(StorageError) in
            try await store.recentSignIn(fingerprint.bytes, at: now)
        }
        // Of a copy whose clock runs ahead it counts from now on.
        return found.map { ($0.session, min(now, $0.endsAt.advanced(bySeconds: -(window + 1)))) }
    }
}
