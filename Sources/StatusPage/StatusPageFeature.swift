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
        status.tables = service.statusTables
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

/// The data of the administrator's status page: the last hour by minute, from the counters of the metrics, and the last
/// failed sign-ins. In memory only, without personal data.
final class StatusBoard: Sendable {
    private struct Counters: Sendable {
        var signIns = ServiceStatus.Outcomes()
        var carriers: [CarrierMetrics.Source: CarrierMetrics.Figures] = [:]
    }

    private struct Minute: Sendable {
        /// The minute's number since 1970.
        let number: Int64
        /// The counters at its start.
        let before: Counters
        /// The counters at its last sample.
        var latest: Counters

        var beginning: Timestamp { Timestamp(secondsSinceEpoch: number * 60) }

        func figures(of source: CarrierMetrics.Source) -> CarrierMetrics.Figures {
            latest.carriers[source, default: .init()] - before.carriers[source, default: .init()]
        }
    }

    private struct State {
        var minutes: [Minute] = []
        var failures: [ServiceStatus.Failure] = []
    }

    static let keptMinutes = 60
    static let keptFailures = 50

    private let names: ProviderNames
    private let clock: WallClock
    private let startedAt: Timestamp
    private let state = Mutex(State())

    init(_ names: ProviderNames, clock: WallClock) {
        self.names = names
        self.clock = clock
        startedAt = clock.now()
    }

    /// Records a failed sign-in, and drops the oldest if there are too many.
    func note(_ report: SignInReport) {
        guard report.fault != nil else { return }
        let failure = ServiceStatus.Failure(
            id: RandomSource.system.token(bytes: 12), at: clock.now(), report: report)
        state.withLock { state in
            if state.failures.count >= Self.keptFailures { state.failures.removeFirst() }
            state.failures.append(failure)
        }
    }

    func failure(_ id: String) -> ServiceStatus.Failure? {
        state.withLock { $0.failures.first { $0.id == id } }
    }

    /// Reads the counters into the current minute.
    func sample(_ metrics: ServiceMetrics) {
        let now = clock.now().secondsSinceEpoch / 60
        state.withLock { state in
            // Under the lock, so that older counts never replace newer ones.
            let counters = Counters(
                signIns: ServiceStatus.Outcomes(metrics.signIns.counts), carriers: metrics.carriers.figures)
            if let last = state.minutes.indices.last, state.minutes[last].number == now {
                state.minutes[last].latest = counters
                return
            }
            // Counts since the last sample of the previous minute belong to this one.
            let before = state.minutes.last?.latest ?? Counters()
            // Each minute exists once, also if the clock was set back.
            state.minutes.removeAll { $0.number >= now || $0.number <= now - Int64(Self.keptMinutes) }
            state.minutes.append(Minute(number: now, before: before, latest: counters))
        }
    }

    /// The status, without the load.
    func status(_ metrics: ServiceMetrics, of carriers: [ServiceStatus.Carrier]) -> ServiceStatus {
        sample(metrics)
        let (minutes, failures) = state.withLock { ($0.minutes, $0.failures) }
        var status = ServiceStatus(version: LatchkeyVersion.text, startedAt: startedAt, now: clock.now())
        status.minutes = minutes.map { (beginning: $0.beginning, outcomes: $0.latest.signIns - $0.before.signIns) }
        status.failures = failures.reversed()
        status.carriers = carriers.map { carrier in
            var carrier = carrier
            carrier.name = names.name(of: carrier.source)
            carrier.minutes = minutes.map { ($0.beginning, $0.figures(of: carrier.source)) }
            return carrier
        }
        return status
    }
}

extension ServiceStatus.Outcomes {
    /// All sign-ins by kind of outcome.
    init(_ counts: [(outcome: SignInReport.Outcome, count: UInt64)]) {
        self.init()
        for (outcome, count) in counts {
            switch outcome {
            case .signedIn: signedIn &+= count
            case .signedUp: signedUp &+= count
            case .mustRegister, .linked, .wasLinked, .authorized: other &+= count
            case .denied: denied &+= count
            case .refused(.invalidIDToken), .refused(.issuerMismatch), .refused(.carrierError),
                .refused(.carrierTimeout), .refused(.temporarilyUnavailable), .refused(.serverError):
                failed &+= count
            case .refused: refused &+= count
            }
        }
    }
}

/// What the status page calls providers, in place of their issuers.
struct ProviderNames: Sendable {
    /// By the providers' names in the configuration.
    private var providers: [String: String] = [:]
    /// The networks of the configured issuers of carriers.
    private var networks: [String: [String]] = [:]

    init(_ configuration: Configuration) {
        for provider in configuration.providers {
            let operatorName = ProviderReference(text: provider.id).operatorName
            providers[provider.id] = provider.name + (operatorName.map { ": \($0)" } ?? "")
        }
        for (network, issuer) in configuration.zenkey.issuers {
            networks[issuer.text, default: []].append(network.text)
        }
    }

    /// The name of a provider; of a carrier its networks, if they are configured, and otherwise the host of its issuer.
    func name(of source: CarrierMetrics.Source) -> String {
        if let name = providers[source.provider] { return name }
        if source.issuer.isEmpty { return "Carrier discovery" }
        if let networks = networks[source.issuer] { return "Carrier \(networks.sorted().joined(separator: ", "))" }
        let parts = source.issuer.split(separator: "/", omittingEmptySubsequences: false)
        return parts.count > 2 ? String(parts[2]) : source.issuer
    }
}
