import HTTPServer
import HTTPTypes
import Primitives
import StorageModel
import Synchronization

/// The ends of sign-ins. A browser that brings the same response again, by a double click, a prefetch or a restored
/// tab, gets the same end.
///
/// In memory, for as long as a sign-in may be under way. After a restart and at another instance, the store has what a
/// code brought, for a minute (``RedirectSignIn/finish(_:browser:session:device:subnet:requestID:)``).
final class RedirectEnds: Sendable {
    struct End: Sendable {
        let response: Response
        /// The token of the session that began.
        var token: Secret?
        /// When the `session_id` or the offer in the response expires.
        var expiresAt: Timestamp?

        /// What it takes in memory, about.
        fileprivate var bytes: Int {
            response.headers.reduce(512 + response.body.count) { $0 + 64 + $1.value.utf8.count }
        }
    }

    /// What the ends may take in memory: 4,000 with a session in cookies.
    static let maximumBytes = 4 << 20

    private struct State {
        /// The requests that wait for the first one with their response.
        var waiting: [TokenHash: [CheckedContinuation<Void, Never>]] = [:]
        var ended: BoundedCache<TokenHash, End>

        func kept(_ key: TokenHash, at now: Timestamp) -> End? {
            let end = ended.value(for: key, at: now)
            if let expiry = end?.expiresAt, expiry <= now { return nil }
            return end
        }
    }

    private let state: Mutex<State>

    /// - Parameter lifetime: How long an end is kept, in seconds, if there is room.
    init(lifetime: Int64) {
        state = Mutex(State(ended: BoundedCache(capacity: Self.maximumBytes, lifetime: lifetime)))
    }

    /// The end of a response that was brought before, if the frontend can still use it.
    /// - Parameter key: Stands for the browser and its response.
    func kept(_ key: TokenHash, at now: Timestamp) -> End? { state.withLock { $0.kept(key, at: now) } }

    /// The end of a response: one that another request finishes now or has just finished, or a new one. It is finished
    /// in the task of its request, which has a loop for the requests to the provider.
    func end(for key: TokenHash, at now: Timestamp, _ finish: () async throws -> End) async throws -> End {
        while true {
            let (ended, isFirst) = state.withLock { state in
                let ended = state.kept(key, at: now)
                let isFirst = ended == nil && state.waiting[key] == nil
                if isFirst { state.waiting[key] = [] }
                return (ended, isFirst)
            }
            if let ended { return ended }
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
                if let end { state.ended.put(end, for: key, weighing: end.bytes, at: now) }
                return state.waiting.removeValue(forKey: key) ?? []
            }
            for request in waiting { request.resume() }
        }
        let new = try await finish()
        end = new
        return new
    }
}
