import Observability
import OpenIDConnect
package import SignIn

/// Counts sign-ins by provider, network and outcome.
package final class SignInMetrics: Sendable {
    /// The network is empty for other providers, and for networks that discovery does not know: those come from
    /// callers.
    private struct Source: Hashable, Sendable {
        let provider: String
        let network: String
    }

    /// The most pairs of provider and network counted separately.
    private static let capacity = 128

    let metrics: [any Metric]
    private let total: BoundedRows<Source, Counter>
    private let durations: Histogram
    private let steps: Histogram
    private let failedChecks: Counter

    init() {
        let kinds = LabelValues("kind", SignInReport.Kind.allCases.map(\.rawValue), "the purpose of the sign-in")
        let outcomes = LabelValues(
            "outcome", SignInReport.Outcome.allCases.map(\.name),
            "`signed_in`, `signed_up`, `must_register`, `linked`, `was_linked`, `authorized`, `denied` by the user "
                + "(`access_denied`), or the `error` of the response, with `refused_by_carrier` for all others of the "
                + "providers' own codes")
        let family = MetricFamily(
            "latchkey_sign_ins_total", .counter, "Sign-ins that ended.",
            rows: [
                .init("provider", "the provider's name in the configuration; empty if the request named none"),
                .init(
                    "mccmnc",
                    "the carrier's network, if discovery knows it; otherwise empty; `other` for all beyond "
                        + "\(Self.capacity)"),
            ], by: [kinds, outcomes])
        total = BoundedRows(capacity: Self.capacity, other: Source(provider: "other", network: "other")) { source in
            Counter(family.row(source.provider, source.network))
        }
        durations = Histogram(
            "latchkey_sign_in_duration_seconds", "Duration of sign-ins, including the providers' responses.",
            by: [kinds])
        steps = Histogram(
            "latchkey_sign_in_step_duration_seconds", "Duration of the steps of sign-ins.",
            by: [LabelValues("step", SignInReport.Step.allCases.map(\.rawValue), "the step")])
        failedChecks = Counter(
            "latchkey_id_token_refusals_total", "ID tokens refused.",
            by: [LabelValues("check", IDTokenCheck.allCases.map(\.rawValue), "the check that failed")])
        metrics = [total.metric(family) { $0 }, durations, steps, failedChecks]
    }

    func count(_ report: SignInReport) {
        let kind = report.kind.place
        total[Source(provider: report.provider ?? "", network: report.network?.text ?? "")]
            .add(at: kind, Self.places[report.outcome] ?? 0)
        durations.observe(report.nanoseconds, at: kind)
        for time in report.steps { steps.observe(time.nanoseconds, at: time.step.place) }
        if let check = report.check { failedChecks.add(at: check.place) }
    }

    /// The count of each outcome, over all kinds and sources.
    package var counts: [(outcome: SignInReport.Outcome, count: UInt64)] {
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
}

extension CaseIterable where Self: Equatable, AllCases.Index == Int {
    /// The place in the order of the cases, which is also the order of a metric's label values.
    var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
