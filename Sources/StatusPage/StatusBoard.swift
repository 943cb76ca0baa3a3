import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import Synchronization

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
    func status(_ metrics: ServiceMetrics, of carriers: [CarrierMetrics.Status]) -> ServiceStatus {
        sample(metrics)
        let (minutes, failures) = state.withLock { ($0.minutes, $0.failures) }
        var status = ServiceStatus(version: LatchkeyVersion.text, startedAt: startedAt, now: clock.now())
        status.minutes = minutes.map { (beginning: $0.beginning, outcomes: $0.latest.signIns - $0.before.signIns) }
        status.failures = failures.reversed()
        status.carriers = carriers.map { status in
            .init(
                status: status, name: names.name(of: status.source),
                minutes: minutes.map { ($0.beginning, $0.figures(of: status.source)) })
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
            providers[provider.id] =
                provider.mobileOperator.map { "\(provider.name): \($0.name)" } ?? provider.name
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
