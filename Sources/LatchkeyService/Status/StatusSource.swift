import HTTPServer
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import Synchronization

/// Assembles the status page. The server and the API are created after it, because they hold it.
final class StatusSource: Sendable {
    private struct Serving {
        weak var api: LatchkeyAPI?
        weak var server: Server?
    }

    /// The most capsules with one correlation id among which that of a failure is looked for.
    private static let examinedCapsules = 100

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

    /// The capsule of a failure of the status; nil if there is none (any more).
    ///
    /// An app may send a correlation id again. So the capsule must be of the same time, and name the same provider and
    /// check, and of several it is the first.
    func capsule(ofFailure id: String) async throws(SignInError) -> ShownCapsule? {
        guard let failure = board.failure(id), let correlationID = failure.report.correlationID else { return nil }
        let stored: [CapsuleRecord]
        do throws(StorageError) {
            stored = try await store.capsules(of: correlationID.text, limit: Self.examinedCapsules)
        } catch {
            throw SignInError(error)
        }
        let times = failure.at.advanced(bySeconds: -1)...failure.at.advanced(bySeconds: 1)
        for capsule in stored.reversed() where times.contains(capsule.time) {
            guard let json = try? JSONValue(parsing: Array(capsule.json.utf8)),
                let content = json.object,
                content["request"]?.object?["provider"]?.string == failure.report.provider,
                content["failure"]?.object?["check"]?.string == failure.report.check?.rawValue
            else { continue }
            return ShownCapsule(json: json, lines: CapsuleReport(of: content, at: capsule.time).lines)
        }
        return nil
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
