package import HTTPServer
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import OpenIDConnect
import Primitives
package import SignIn
import StorageModel
import Synchronization

/// The status page of the service. It has no settings: it is there unless the build leaves it out.
package final class StatusPageFeature: Feature {
    private struct State {
        /// Weak, because the service holds its features.
        weak var service: LatchkeyService?
        var sampling: Task<Void, Never>?
    }

    private let board: StatusBoard
    private let clock: WallClock
    private let state = Mutex(State())

    package init(_ settings: NoSettings, in context: FeatureContext) {
        board = StatusBoard(ProviderNames(context.configuration), clock: context.clock)
        clock = context.clock
    }

    package static var operations: [APIOperation] { StatusRoutes.operations }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        StatusRoutes(status: status, capsule: capsule).addRoutes(to: &router, of: api)
    }

    package var signInObserver: SignInObserver? { { [board] report in board.note(report) } }

    package func attach(to service: LatchkeyService) { state.withLock { $0.service = service } }

    /// Samples the counters every few seconds until the shutdown.
    package func start() {
        state.withLock {
            $0.sampling = Task { [board, metrics = $0.service?.metrics] in
                guard let metrics else { return }
                repeat { board.sample(metrics) } while (try? await Task.sleep(for: .seconds(5))) != nil
            }
        }
    }

    package func shutdown() async { state.withLock { $0.sampling?.cancel() } }

    /// - Throws: 404 after the end of the service.
    private func status() async throws -> ServiceStatus {
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
    private func capsule(ofFailure id: String) async throws -> FailureExplanation? {
        guard let failure = board.failure(id) else { return nil }
        let service = try attached()
        do throws(StorageError) {
            return try await service.explanation(of: failure.report, at: failure.at)
        } catch {
            throw SignInError(error)
        }
    }
}
