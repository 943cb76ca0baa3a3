import Observability
import OpenIDConnect
import SignIn

/// Counts sign-ins, by whose they were and how they ended.
final class SignInMetrics: Sendable {
    /// Whose sign-ins: a provider's, and a network's where it is of carriers. Networks that discovery does not know have
    /// none: anybody can name one.
    private struct Source: Hashable, Sendable {
        let provider: String
        let network: String
    }

    /// Networks and providers beyond these count together.
    private static let capacity = 128

    private let total: BoundedRows<Source, Counter>
    private let template: RowTemplate
    private let durations: Histogram
    private let steps: Histogram
    private let failedChecks: Counter

    init() {
        let kinds = LabelValues(
            "kind", SignInReport.Kind.allCases.map(\.rawValue), "what the sign-in was for")
        let outcomes = LabelValues(
            "outcome", SignInReport.Outcome.allCases.map(\.rawValue),
            "how it ended: `signed_in`, `signed_up`, `must_register`, `linked`, `was_linked`, `authorized`, or the `error` of "
                + "the answer, with `refused_by_carrier` for all codes of carriers' own")
        let template = RowTemplate(
            "latchkey_sign_ins_total", .counter, "Sign-ins that have ended.",
            rows: [
                .init("provider", "the provider's name in the configuration; empty where the request named none"),
                .init(
                    "mccmnc",
                    "the carrier's network, where discovery knows it; empty otherwise; `other` beyond \(Self.capacity) of them"
                ),
            ], by: [kinds, outcomes])
        self.template = template
        total = BoundedRows(capacity: Self.capacity, other: template.counter(["other", "other"])) { source in
            template.counter([source.provider, source.network])
        }
        durations = Histogram(
            "latchkey_sign_in_duration_seconds", "From a sign-in's request to its end, carriers' answers included.",
            by: [kinds])
        steps = Histogram(
            "latchkey_sign_in_step_duration_seconds", "How long the steps of sign-ins take.",
            by: [LabelValues("step", SignInReport.Step.allCases.map(\.rawValue), "the step")])
        failedChecks = Counter(
            "latchkey_id_token_refusals_total", "ID tokens that were refused.",
            by: [LabelValues("check", IDTokenCheck.allCases.map(\.rawValue), "the check that failed")])
    }

    var metrics: [any Metric] {
        [RowsMetric(template.description, in: total) { $0 }, durations, steps, failedChecks]
    }

    func count(_ report: SignInReport) {
        let kind = Self.place(of: report.kind)
        total[Source(provider: report.provider ?? "", network: report.network?.text ?? "")]
            .add(at: kind, Self.places[report.outcome] ?? 0)
        durations.observe(report.nanoseconds, at: kind)
        for (step, nanoseconds) in report.steps { steps.observe(nanoseconds, at: Self.place(of: step)) }
        if let check = report.check { failedChecks.add(at: Self.placesOfChecks[check] ?? 0) }
    }

    /// How many ended how, all kinds and sources together.
    var counts: [(outcome: SignInReport.Outcome, count: UInt64)] {
        let rows = total.all
        return SignInReport.Outcome.allCases.enumerated().map { place, outcome in
            let count = rows.reduce(UInt64(0)) { sum, row in
                SignInReport.Kind.allCases.indices.reduce(sum) { $0 &+ row.value(at: $1, place) }
            }
            return (outcome, count)
        }
    }

    private static let places = Dictionary(
        uniqueKeysWithValues: SignInReport.Outcome.allCases.enumerated().map { ($1, $0) })
    private static let placesOfChecks = Dictionary(
        uniqueKeysWithValues: IDTokenCheck.allCases.enumerated().map { ($1, $0) })

    private static func place(of kind: SignInReport.Kind) -> Int {
        SignInReport.Kind.allCases.firstIndex(of: kind) ?? 0
    }

    private static func place(of step: SignInReport.Step) -> Int {
        SignInReport.Step.allCases.firstIndex(of: step) ?? 0
    }
}
