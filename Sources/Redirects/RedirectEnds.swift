import HTTPServer
import Primitives
import StorageModel
import Synchronization

/// What sign-ins ended with. A browser that brings the same response again, by a double click, a prefetch or a restored
/// tab, gets the same end.
///
/// In memory: after a restart and at another instance, the browser is told that the sign-in is over.
final class RedirectEnds: Sendable {
    struct End: Sendable {
        let response: Response
        /// The token of the session that began.
        var token: Secret?
        /// When the `session_id` or the offer in the response expires.
        var expiresAt: Timestamp?
    }

    private struct State {
        /// The requests that wait for the first one with their response.
        var waiting: [TokenHash: [CheckedContinuation<Void, Never>]] = [:]
        var ended: BoundedCache<TokenHash, End>
    }

    private let state: Mutex<State>

    /// - Parameter lifetime: How long an end is kept, in seconds, among the last 4,096.
    init(lifetime: Int64) {
        state = Mutex(State(ended: BoundedCache(capacity: 4096, lifetime: lifetime)))
    }

    /// The end of a response: an earlier one, the one that another request brings now, or a new one.
    /// - Parameter key: Stands for the browser and its response.
    func end(
        for key: TokenHash, at now: Timestamp, _ finish: () async throws -> End
    ) async throws -> (End, isRepeated: Bool) {
        while true {
            let (ended, isFirst) = state.withLock { state in
                let ended = state.ended.value(for: key, at: now)
                let isFirst = ended == nil && state.waiting[key] == nil
                if isFirst { state.waiting[key] = [] }
                return (ended, isFirst)
            }
            if let ended { return (ended, true) }
            if isFirst { break }
            await withCheckedContinuation { waiting in
                let isOver = state.withLock { state in
                    state.waiting[key]?.append(waiting)
                    return state.waiting[key] == nil
                }
                if isOver { waiting.resume() }
            }
        }
        var end: End?
        defer {
            let waiting = state.withLock { state in
                if let end { state.ended.put(end, for: key, at: now) }
                return state.waiting.removeValue(forKey: key) ?? []
            }
            for request in waiting { request.resume() }
        }
        let new = try await finish()
        end = new
        return (new, false)
    }
}
