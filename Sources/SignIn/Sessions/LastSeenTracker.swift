import Primitives
import StorageModel
import Synchronization

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
            state.unwritten.append(SessionLastSeen(sessionID: session.id, userID: session.userID, time: now))
        }
    }

    /// When a session was last recorded; nil if that is not known.
    func time(of sessionID: String) -> Timestamp? { state.withLock { $0.times[sessionID] } }

    /// Removes and returns the sessions that are not stored yet; the caller stores them.
    func takeUnwritten() -> [SessionLastSeen] {
        state.withLock { state in
            defer { state.unwritten = [] }
            return state.unwritten
        }
    }
}
