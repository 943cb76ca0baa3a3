import HTTPServer
import LatchkeyAPI
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import Synchronization

/// Assembles the status from the board and the running service.
final class StatusSource: Sendable {
    private struct State {
        /// Weak, because the service holds its features.
        weak var service: LatchkeyService?
        var sampling: Task<Void, Never>?
    }

    let board: StatusBoard
    private let clock: WallClock
    private let state = Mutex(State())

    init(_ names: ProviderNames, clock: WallClock) {
        board = StatusBoard(names, clock: clock)
        self.clock = clock
    }

    func attach(to service: LatchkeyService) { state.withLock { $0.service = service } }

    /// Samples the counters every few seconds until ``stop()``.
    func start() {
        state.withLock {
            $0.sampling = Task { [board, metrics = $0.service?.metrics] in
                guard let metrics else { return }
                repeat { board.sample(metrics) } while (try? await Task.sleep(for: .seconds(5))) != nil
            }
        }
    }

    func stop() { state.withLock { $0.sampling?.cancel() } }

    /// - Throws: 404 after the end of the service.
    func status() async throws -> ServiceStatus {
        let service = try attached()
        return await service.metrics.read { self.read(service) }
    }

    private func attached() throws -> LatchkeyService {
        guard let service = state.withLock({ $0.service }) else { throw APIError.nothingThere }
        return service
    }

    private func read(_ service: LatchkeyService) -> ServiceStatus {
        let carriers = service.metrics.carriers.statuses(of: service.relyingParties, at: clock.now())
        var status = board.status(service.metrics, of: carriers)
        status.hasCapsules = service.recordsFailures
        status.sessions = service.useCases.sessions.statistics
        status.load = service.api.load
        status.connections = service.server.statistics.connections
        (status.readsWaiting, status.writesWaiting) = service.waitingForStore
        return status
    }

    /// The capsule of a failure of the status; nil if there is none (any more).
    func capsule(ofFailure id: String) async throws -> FailureExplanation? {
        guard let failure = board.failure(id) else { return nil }
        let service = try attached()
        do throws(StorageError) {
            return try await service.explanation(of: failure.report, at: failure.at)
        } catch {
            throw SignInError(error)
        }
    }
}
