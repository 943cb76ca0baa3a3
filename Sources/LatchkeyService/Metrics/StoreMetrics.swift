import Observability
import Storage
import StorageModel

final class StoreMetrics: Sendable {
    private let durations: Histogram
    private let failures: Counter

    init() {
        let kinds = LabelValues("kind", ["read", "write"], "whether the call reads or writes")
        durations = Histogram(
            "latchkey_store_call_duration_seconds", "Duration of calls to the store, including waiting.", by: [kinds])
        failures = Counter(
            "latchkey_store_errors_total", "Calls to the store that failed.",
            by: [kinds, LabelValues("code", StorageError.Code.allCases.map(\.rawValue), "the cause")])
    }

    var observer: StoreObserver {
        { [self] call in
            let kind = call.kind == .read ? 0 : 1
            durations.observe(call.nanoseconds, at: kind)
            if let failure = call.failure { failures.add(at: kind, failure.place) }
        }
    }

    func metrics(of store: SQLStore) -> [any Metric] {
        [
            durations, failures,
            SampledMetric(
                MetricDescription(
                    "latchkey_store_calls_waiting", .gauge, "Calls that wait for a connection or for a shared commit.",
                    labels: [.init("kind", "whether the call reads or writes")])
            ) {
                [
                    .init(Double(store.reads.waitingCount), ["read"]),
                    .init(Double(store.writes.waitingCount), ["write"]),
                ]
            },
            SampledMetric(
                "latchkey_store_commits_total", .counter, "Commits, each of one or more writes.",
                { Double(store.writes.batchCount) }),
        ]
    }
}
