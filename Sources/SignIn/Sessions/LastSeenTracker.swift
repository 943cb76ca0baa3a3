import Primitives
import StorageModel
import Synchronization

/// Remembers when sessions were used, until it is written down: a request of a signed-in app writes nothing itself.
///
/// To five minutes: within these a session is noted once. Bounded; what there is no room for is not noted, and the
/// session seems unused for longer than it was.
final class LastSeenTracker: Sendable {
    /// Seconds.
    static let precision: Int64 = 300

    private struct State {
        var noted: GenerationalCache<String, Timestamp>
        var unwritten: [SessionLastSeen] = []
    }

    private let capacity: Int
    private let state: Mutex<State>

    /// - Parameter capacity: How many sightings wait to be written at most.
    init(capacity: Int = 16_384) {
        self.capacity = capacity
        state = Mutex(State(noted: GenerationalCache(capacity: capacity)))
    }

    func note(_ session: Session, at now: Timestamp) {
        guard session.createdAt.advanced(bySeconds: Self.precision) <= now else { return }
        state.withLock { state in
            if let last = state.noted[session.id], last.advanced(bySeconds: Self.precision) > now { return }
            guard state.unwritten.count < capacity else { return }
            state.noted.put(now, for: session.id)
            state.unwritten.append(SessionLastSeen(sessionID: session.id, userID: session.userID, time: now))
        }
    }

    /// When a session was last noted, if that is remembered.
    func lastTime(_ sessionID: String) -> Timestamp? { state.withLock { $0.noted[sessionID] } }

    /// What is not written yet; the caller writes it.
    func takeUnwritten() -> [SessionLastSeen] {
        state.withLock { state in
            defer { state.unwritten = [] }
            return state.unwritten
        }
    }
}
