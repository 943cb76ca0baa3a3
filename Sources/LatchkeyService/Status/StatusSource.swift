import HTTPServer
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import Storage
import Synchronization

/// Assembles the status page. The server and the API are created after it, because they hold it.
final class StatusSource: Sendable {
    private struct Serving {
        weak var api: LatchkeyAPI?
        weak var server: Server?
    }

    private let board: StatusBoard
    private let metrics: ServiceMetrics
    private let relyingParties: [String: RelyingParty]
    private let sessions: Sessions
    private let store: SQLStore
    private let clock: WallClock
    private let serving = Mutex(Serving())

    init(
        _ board: StatusBoard, _ metrics: ServiceMetrics, _ relyingParties: [String: RelyingParty], _ sessions: Sessions,
        _ store: SQLStore, clock: WallClock
    ) {
        self.board = board
        self.metrics = metrics
        self.relyingParties = relyingParties
        self.sessions = sessions
        self.store = store
        self.clock = clock
    }

    func watch(_ api: LatchkeyAPI, _ server: Server) {
        serving.withLock { $0 = Serving(api: api, server: server) }
    }

    func status() async -> ServiceStatus { await metrics.read { self.read() } }

    private func read() -> ServiceStatus {
        let (api, server) = serving.withLock { ($0.api, $0.server) }
        var status = board.status(of: metrics.carriers.statuses(of: relyingParties, at: clock.now()))
        status.sessions = sessions.statistics
        if let api { status.load = api.load }
        status.connections = server?.statistics.connections ?? 0
        status.readsWaiting = store.statistics.readsWaiting
        status.writesWaiting = store.statistics.writesWaiting
        return status
    }
}
