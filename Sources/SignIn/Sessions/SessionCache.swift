package import Primitives
package import StorageModel
import Synchronization

/// The sessions that were read or created recently, so that most requests of a signed-in app need no database.
///
/// The token's hash selects one of sixteen parts, each with its own mutex, which is never held while the store is
/// read. Concurrent misses each read the store: a read is one indexed look-up, and cheaper than making the requests
/// wait for each other. Unknown tokens are not cached.
///
/// A session with its user takes about 700 bytes. Memory is taken as sessions come, up to `capacity`; then the oldest
/// ones give way. New sessions, which may never be used, take a sixteenth of it at most: a flood of sign-ins neither
/// fills the memory nor displaces the sessions in use.
///
/// An entry is used for five seconds. A revocation by another process can stay unnoticed for that long, unless the
/// store announces it (``Sessions/storeDidChange(_:)``). A revocation by this process takes effect at once: a read
/// under way cannot put the session back (see ``Ticket``).
package final class SessionCache: Sendable {
    /// How long an entry is used, in seconds.
    package static let freshness: Int64 = 5

    /// The state of the cache before a read of the store. What was read is cached only if nothing was removed since.
    package struct Ticket: Sendable {
        fileprivate let removals: UInt64
        /// When the read began.
        let time: Timestamp
    }

    package enum Look: Sendable {
        case hit(SessionAndUser)
        case miss(Ticket)
    }

    private struct Entry: Sendable {
        let found: SessionAndUser
        let generation: UInt32
        let readAt: Timestamp
    }

    private struct State {
        /// By the number of bytes that they take.
        var entries: BoundedCache<TokenHash, Entry>
        var hits: UInt64 = 0
        var misses: UInt64 = 0
    }

    private final class Part: Sendable {
        let state: Mutex<State>

        init(bytes: Int) {
            // The lifetime includes its last second.
            state = Mutex(State(entries: BoundedCache(capacity: bytes, lifetime: SessionCache.freshness - 1)))
        }
    }

    private static let partCount = 16
    private static let generationCount = 4096
    // Counted from the layouts, with the heads of objects and with what glibc adds to a block and rounds up. The heap
    // (`mallinfo2`) grows by 0.93 to 1.02 of the sum, with 20,000 to 300,000 sessions of four kinds.

    /// Of an entry: its session's object, of 128, and its places in the ring, of 72, and in the dictionary, of 36. Both
    /// tables double when they grow, and a quarter of the dictionary is empty: 184 on the average.
    private static let entryBytes = 312
    /// Of the array of a user's attributes.
    private static let profileBytes = 160
    /// Of the object of what providers vouch for.
    private static let assertionsBytes = 96
    /// The longest text that has no memory besides its place in a structure.
    private static let longestSmallText = 15

    private let parts: [Part]
    /// Counts all removals. Read and written in the same order by all threads, as are the generations.
    private let removals = Atomic<UInt64>(0)
    /// By the user's number modulo their count: how often such a user was removed. An entry has the number that it was
    /// put in with, and counts only while that is still the present one. Another user's removal may invalidate an entry
    /// in vain, which costs one read.
    private nonisolated(unsafe) let generations: UnsafeMutablePointer<Atomic<UInt32>>

    /// - Parameter capacity: The most bytes of all sessions.
    package init(capacity: Int = 64 << 20) {
        parts = (0..<Self.partCount).map { _ in Part(bytes: capacity / Self.partCount) }
        generations = .allocate(capacity: Self.generationCount)
        for index in 0..<Self.generationCount { (generations + index).initialize(to: Atomic(0)) }
    }

    deinit {
        generations.deinitialize(count: Self.generationCount)
        generations.deallocate()
    }

    package func look(_ token: TokenHash, at now: Timestamp) -> Look {
        let found: SessionAndUser? = part(of: token).state.withLock { state in
            // A clock that was set back makes every entry unusable.
            if let entry = state.entries.value(for: token, at: now), entry.readAt <= now,
                now < entry.found.session.expiresAt, entry.generation == generation(of: entry.found.user.id)
            {
                state.hits &+= 1
                return entry.found
            }
            state.misses &+= 1
            return nil
        }
        if let found { return .hit(found) }
        return .miss(ticket(at: now))
    }

    package var looks: (hits: UInt64, misses: UInt64) {
        parts.reduce((0, 0)) { sum, part in
            part.state.withLock { (sum.0 &+ $0.hits, sum.1 &+ $0.misses) }
        }
    }

    package var bytes: Int { parts.reduce(0) { sum, part in sum + part.state.withLock { $0.entries.weight } } }

    /// Taken before a read of the store whose result will be cached.
    package func ticket(at now: Timestamp) -> Ticket {
        Ticket(removals: removals.load(ordering: .sequentiallyConsistent), time: now)
    }

    /// - Parameter isNew: Whether the session was created now, rather than used.
    package func put(_ found: SessionAndUser, for token: TokenHash, _ ticket: Ticket, isNew: Bool = false) {
        let bytes = Self.bytes(of: found)
        part(of: token).state.withLock { state in
            // A profile that is out of the ordinary must not push out all others.
            guard bytes <= state.entries.capacity / 4 else { return }
            if isNew {
                state.entries.removeExpired(at: ticket.time)
                guard state.entries.weight < state.entries.capacity / 16 else { return }
            }
            // The generation first: a removal counts itself before it changes the generation, so that one that is not
            // seen in the count makes this entry invalid.
            let generation = generation(of: found.user.id)
            guard removals.load(ordering: .sequentiallyConsistent) == ticket.removals else { return }
            let entry = Entry(found: found, generation: generation, readAt: ticket.time)
            state.entries.put(entry, for: token, weighing: bytes, at: ticket.time)
        }
    }

    private static func bytes(of found: SessionAndUser) -> Int {
        let (session, user, assertions) = (found.session, found.user, found.user.assertions)
        let profile = UserAttribute.allCases.lazy.compactMap { user.profile[$0] }
        let objects = entryBytes + (profile.isEmpty ? 0 : profileBytes) + (assertions == nil ? 0 : assertionsBytes)
        let texts = [
            session.id, session.clientID, user.publicID, assertions?.email?.issuer, assertions?.phoneNumber?.issuer,
            assertions?.claims,
        ]
        return texts.reduce(profile.reduce(objects) { $0 + bytes(of: $1) }) { $0 + bytes(of: $1) }
    }

    /// Of a text's memory: 32 bytes and a zero besides the text, in steps of 16, and 16 of the heap.
    private static func bytes(of text: String?) -> Int {
        let count = text?.utf8.count ?? 0
        return count <= longestSmallText ? 0 : (count + 33 + 15) / 16 * 16 + 16
    }

    package func removeAll() {
        // Before the entries: what is put in later than this sees it.
        removals.add(1, ordering: .sequentiallyConsistent)
        for part in parts { part.state.withLock { $0.entries.removeAll() } }
    }

    /// Removes a user and all of the user's sessions, under whatever tokens.
    package func remove(_ user: UserID) {
        removals.add(1, ordering: .sequentiallyConsistent)
        generations[index(of: user)].wrappingAdd(1, ordering: .sequentiallyConsistent)
    }

    private func part(of token: TokenHash) -> Part { parts[Int(token.number >> 60)] }

    private func generation(of user: UserID) -> UInt32 {
        generations[index(of: user)].load(ordering: .sequentiallyConsistent)
    }

    private func index(of user: UserID) -> Int {
        Int(UInt64(bitPattern: user.number) % UInt64(Self.generationCount))
    }
}

/// Collects when sessions were last seen until they are stored, so that a signed-in app's request writes nothing
/// itself.
///
/// Accurate to five minutes: a session is recorded once in that time. Bounded; a session that does not fit is not
/// recorded and appears unused for longer than it was.
final class LastSeenTracker: Sendable {
    /// In seconds.
    static let precision: Int64 = 300

    private struct State {
        var times: BoundedCache<String, Timestamp>
        var unwritten: [SessionLastSeen] = []
    }

    private let capacity: Int
    private let state: Mutex<State>

    /// - Parameter capacity: The most sessions that wait to be stored.
    init(capacity: Int = 16_384) {
        self.capacity = capacity
        state = Mutex(State(times: BoundedCache(capacity: capacity)))
    }

    func record(_ session: Session, at now: Timestamp) {
        guard session.createdAt.advanced(bySeconds: Self.precision) <= now else { return }
        state.withLock { state in
            if let last = state.times[session.id], last.advanced(bySeconds: Self.precision) > now { return }
            guard state.unwritten.count < capacity else { return }
            state.times.put(now, for: session.id)
            state.unwritten.append((session.id, session.userID, now))
        }
    }

    /// When a session was last recorded; nil if that is not known.
    func time(of sessionID: String) -> Timestamp? { state.withLock { $0.times[sessionID] } }

    /// Removes and returns the sessions that are not stored yet; the caller stores them.
    func takeUnwritten() -> [SessionLastSeen] {
        state.withLock { exchange(&$0.unwritten, with: []) }
    }
}
