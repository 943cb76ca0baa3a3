import Primitives
import StorageModel
import Synchronization

/// The sessions that were read or created recently, so that most requests of a signed-in app need no database.
///
/// One mutex protects the whole cache; it is never held while the store is read. Concurrent misses each read the store:
/// a read is one indexed look-up, and cheaper than making the requests wait for each other. Unknown tokens are not
/// cached.
///
/// An entry is used for five seconds. A revocation by another process can stay unnoticed for that long, unless the
/// store announces it (``Sessions/hear(_:)``). A revocation by this process takes effect at once: a read under way
/// cannot put the session back (see ``Ticket``).
final class SessionCache: Sendable {
    /// How long an entry is used, in seconds.
    static let freshness: Int64 = 5

    /// The state of the cache before a read of the store. What was read is cached only if nothing was removed since.
    struct Ticket: Sendable {
        fileprivate let removals: UInt64
        fileprivate let time: Timestamp
    }

    enum Look: Sendable {
        case hit(SessionAndUser)
        case miss(Ticket)
    }

    private struct Entry: Sendable {
        let session: Session
        let readAt: Timestamp
        /// The version of the user it was cached with.
        let version: UInt64

        func answers(at now: Timestamp) -> Bool {
            // A clock that was set back makes every entry too old.
            readAt <= now && now < readAt.advanced(bySeconds: SessionCache.freshness) && now < session.expiresAt
        }
    }

    /// Not a tuple: unspecialized code would look up its metadata at run time.
    private struct VersionedUser: Sendable {
        let user: User
        let version: UInt64
    }

    private struct State {
        var sessions: BoundedCache<TokenHash, Entry>
        /// Separate from the sessions, so that removing one user invalidates all of the user's sessions. Entries of
        /// those sessions keep the removed user's version, and do not match the user who is cached later.
        var users: BoundedCache<UserID, VersionedUser>
        var removals: UInt64 = 0
        var hits: UInt64 = 0
        var misses: UInt64 = 0
    }

    private let state: Mutex<State>
    private let capacity: Int

    /// - Parameter capacity: The most sessions, and the most users, in the cache.
    init(capacity: Int = 4_096) {
        self.capacity = capacity
        state = Mutex(State(sessions: BoundedCache(capacity: capacity), users: BoundedCache(capacity: capacity)))
    }

    func look(_ token: TokenHash, at now: Timestamp) -> Look {
        state.withLock { state in
            if let entry = state.sessions[token], entry.answers(at: now),
                let known = state.users[entry.session.userID], known.version == entry.version
            {
                state.hits &+= 1
                return .hit(SessionAndUser(session: entry.session, user: known.user))
            }
            state.misses &+= 1
            return .miss(Ticket(removals: state.removals, time: now))
        }
    }

    /// The number of lookups that hit and that missed.
    var looks: (hits: UInt64, misses: UInt64) { state.withLock { ($0.hits, $0.misses) } }

    /// Taken before a read of the store whose result will be cached.
    func ticket(at now: Timestamp) -> Ticket {
        state.withLock { Ticket(removals: $0.removals, time: now) }
    }

    func put(_ found: SessionAndUser, for token: TokenHash, _ ticket: Ticket) {
        state.withLock { state in
            guard state.removals == ticket.removals else { return }
            let version = state.users[found.user.id]?.version ?? state.removals
            state.sessions.put(Entry(session: found.session, readAt: ticket.time, version: version), for: token)
            state.users.put(VersionedUser(user: found.user, version: version), for: found.user.id)
        }
    }

    /// Removes everything, since anything may have changed.
    func removeAll() {
        state.withLock { state in
            state.removals &+= 1
            state.sessions = BoundedCache(capacity: capacity)
            state.users = BoundedCache(capacity: capacity)
        }
    }

    /// Removes a user and all of the user's sessions, under whatever tokens.
    func remove(_ user: UserID) {
        state.withLock { state in
            state.removals &+= 1
            state.users.remove(user)
        }
    }
}
