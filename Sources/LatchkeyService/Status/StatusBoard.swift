import LatchkeyAPI
import Primitives
import SignIn
import Synchronization

/// What the operator's status page tells: the last hour, minute by minute, from the counters of the metrics, and the last
/// sign-ins that failed. All of it is in memory, and nothing of a user is in it.
final class StatusBoard: Sendable {
    /// Counts from the beginning of a minute on.
    struct Minute: Sendable {
        /// The minute's number since 1970.
        let number: Int64
        /// As the counters stood when it began.
        let signInsBefore: ServiceStatus.Outcomes
        let carriersBefore: [CarrierMetrics.Status.Source: CarrierMetrics.Figures]
        var signIns = ServiceStatus.Outcomes()
        var carriers: [CarrierMetrics.Status.Source: CarrierMetrics.Figures] = [:]

        var beginning: Timestamp { Timestamp(secondsSinceEpoch: number * 60) }
    }

    private struct State {
        var minutes: [Minute] = []
        var failures: [ServiceStatus.Failure] = []
    }

    static let keptMinutes = 60
    static let keptFailures = 50

    private let signIns: SignInMetrics
    private let carriers: CarrierMetrics
    private let clock: WallClock
    private let startedAt: Timestamp
    private let state = Mutex(State())

    init(_ metrics: ServiceMetrics, clock: WallClock) {
        signIns = metrics.signIns
        carriers = metrics.carriers
        self.clock = clock
        startedAt = clock.now()
    }

    /// Keeps a sign-in that failed, and forgets the oldest for it.
    func note(_ report: SignInReport) {
        guard report.fault != nil else { return }
        let failure = ServiceStatus.Failure(at: clock.now(), report: report)
        state.withLock { state in
            if state.failures.count >= Self.keptFailures { state.failures.removeFirst() }
            state.failures.append(failure)
        }
    }

    /// Reads them every few seconds until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            sample()
            do {
                try await Task.sleep(for: .seconds(5))
            } catch {
                return
            }
        }
    }

    /// Reads the counters into the present minute. To be called every few seconds.
    func sample() {
        let now = clock.now().secondsSinceEpoch / 60
        state.withLock { state in
            // Read in here, so that nobody's older figures come after newer ones.
            let signIns = signIns.totals
            let carriers = carriers.figures
            if state.minutes.last?.number != now {
                // What came since the last look at the minute before counts in this one.
                let last = state.minutes.last
                // Of a clock that was set back, too, each minute is there once.
                state.minutes.removeAll { $0.number >= now || $0.number <= now - Int64(Self.keptMinutes) }
                state.minutes.append(
                    Minute(
                        number: now, signInsBefore: last.map { $0.signInsBefore + $0.signIns } ?? .init(),
                        carriersBefore: last.map { $0.carriersBefore.merging($0.carriers, uniquingKeysWith: +) } ?? [:])
                )
            }
            guard let index = state.minutes.indices.last else { return }
            let minute = state.minutes[index]
            state.minutes[index].signIns = signIns - minute.signInsBefore
            state.minutes[index].carriers = Dictionary(
                carriers.map { ($0.key, $0.value - (minute.carriersBefore[$0.key] ?? .init())) }
            ) { first, _ in first }
        }
    }

    /// The latest first.
    private var failures: [ServiceStatus.Failure] { state.withLock { $0.failures }.reversed() }

    /// How things stand, as far as it is known here.
    func status(of carriers: [CarrierMetrics.Status]) -> ServiceStatus {
        sample()
        let minutes = state.withLock { $0.minutes }
        var status = ServiceStatus(version: LatchkeyVersion.text, startedAt: startedAt, now: clock.now())
        status.minutes = minutes.map { .init(beginning: $0.beginning, outcomes: $0.signIns) }
        status.failures = failures
        status.carriers = carriers.map { status in
            var carrier = ServiceStatus.Carrier(provider: status.source.provider, issuer: status.source.issuer)
            carrier.leftAlone = status.leftAlone
            carrier.keysFetchedAt = status.keysFetchedAt
            carrier.all = status.figures.answers
            carrier.minutes = minutes.map { minute in
                (minute.beginning, (minute.carriers[status.source] ?? CarrierMetrics.Figures()).answers)
            }
            return carrier
        }
        return status
    }
}
