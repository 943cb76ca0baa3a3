package import Primitives
package import StorageModel
import Synchronization

/// The sessions that were read or created recently, so that most requests of a signed-in app need no database.
///
/// The token's hash selects one of sixteen parts, each with its own mutex, which is never held while the store is
/// read. Concurrent misses each read the store: a read is one indexed look-up, and cheaper than making the requests
/// wait for each other. Unknown tokens are not cached.
///
/// A session is kept with its user as a compact record (`SessionRecord`), about 190 bytes with its place in the
/// table. Memory is taken as sessions come, up to `capacity`; then the oldest records give way. New sessions, which may
/// never be used, take a sixteenth of it at most: a flood of sign-ins neither fills the memory nor displaces the
/// sessions in use.
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

    private struct State: ~Copyable {
        var ring: SessionRing
        var hits: UInt64 = 0
        var misses: UInt64 = 0
    }

    private final class Part: Sendable {
        let state: Mutex<State>

        init(bytes: Int) { state = Mutex(State(ring: SessionRing(maximumBytes: bytes))) }
    }

    private static let partCount = 16
    private static let generationCount = 4096

    private let parts: [Part]
    /// While a part has this many bytes of records, new sessions are not put in.
    private let maximumBytesWithNew: Int
    /// Counts all removals. Read and written in the same order by all threads, as are the generations.
    private let removals = Atomic<UInt64>(0)
    /// By the user's number modulo their count: how often such a user was removed. A record has the number that it was
    /// put in with, and counts only while that is still the present one. Another user's removal may invalidate a record
    /// in vain, which costs one read.
    private nonisolated(unsafe) let generations: UnsafeMutablePointer<Atomic<UInt32>>

    /// - Parameter capacity: The most bytes of all records and tables.
    package init(capacity: Int = 20 << 20) {
        parts = (0..<Self.partCount).map { _ in Part(bytes: capacity / Self.partCount) }
        maximumBytesWithNew = capacity / Self.partCount / 16
        generations = .allocate(capacity: Self.generationCount)
        for index in 0..<Self.generationCount { (generations + index).initialize(to: Atomic(0)) }
    }

    deinit {
        generations.deinitialize(count: Self.generationCount)
        generations.deallocate()
    }

    package func look(_ token: TokenHash, at now: Timestamp) -> Look {
        let found: SessionAndUser? = part(of: token).state.withLock { state in
            if let record = state.ring.record(of: token), record.answers(at: now),
                record.generation == generation(of: record.userID)
            {
                state.hits &+= 1
                return record.decoded
            }
            state.misses &+= 1
            return nil
        }
        if let found { return .hit(found) }
        return .miss(ticket(at: now))
    }

    /// The number of lookups that hit and that missed.
    package var looks: (hits: UInt64, misses: UInt64) {
        parts.reduce((0, 0)) { sum, part in
            part.state.withLock { (sum.0 &+ $0.hits, sum.1 &+ $0.misses) }
        }
    }

    /// The bytes of all records and tables.
    package var bytes: Int { parts.reduce(0) { sum, part in sum + part.state.withLock { $0.ring.allocatedBytes } } }

    /// Taken before a read of the store whose result will be cached.
    package func ticket(at now: Timestamp) -> Ticket {
        Ticket(removals: removals.load(ordering: .sequentiallyConsistent), time: now)
    }

    /// - Parameter isNew: Whether the session was created now, rather than used.
    package func put(_ found: SessionAndUser, for token: TokenHash, _ ticket: Ticket, isNew: Bool = false) {
        part(of: token).state.withLock { state in
            if isNew {
                state.ring.removeOld(at: ticket.time)
                guard state.ring.usedBytes < maximumBytesWithNew else { return }
            }
            // The generation first: a removal counts itself before it changes the generation, so that one that is not
            // seen in the count makes this record invalid.
            let generation = generation(of: found.user.id)
            guard removals.load(ordering: .sequentiallyConsistent) == ticket.removals else { return }
            state.ring.put(found, for: token, generation: generation, readAt: ticket.time)
        }
    }

    /// Removes everything, since anything may have changed.
    package func removeAll() {
        // Before the records: what is put in later than this sees it.
        removals.add(1, ordering: .sequentiallyConsistent)
        for part in parts { part.state.withLock { $0.ring.removeAll() } }
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
