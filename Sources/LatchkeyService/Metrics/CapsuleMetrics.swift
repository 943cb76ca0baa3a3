import Observability
import SignIn

/// Counts capsules of failed sign-ins.
final class CapsuleMetrics: Sendable {
    let total = Counter(
        "latchkey_capsules_total", "Capsules of failed sign-ins.",
        by: [
            LabelValues(
                "outcome", CapsuleRecorder.Outcome.allCases.map(\.rawValue),
                "`stored`; `dropped` if there were too many failures at once; `failed` if the database refused it")
        ],
        startsAtZero: true)

    func count(_ outcome: CapsuleRecorder.Outcome) {
        total.add(at: CapsuleRecorder.Outcome.allCases.firstIndex(of: outcome) ?? 0)
    }
}
