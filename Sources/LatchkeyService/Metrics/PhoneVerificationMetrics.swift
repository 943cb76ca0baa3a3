import Observability
import SignIn

/// Counts verifications of phone numbers by operator and outcome.
final class PhoneVerificationMetrics: Sendable {
    /// The most operators counted separately.
    private static let capacity = 128
    private static let places = Dictionary(
        uniqueKeysWithValues: PhoneVerificationReport.Outcome.allCases.enumerated().map { ($1, $0) })

    private let total: BoundedRows<String, Counter>
    private let template: RowTemplate

    init() {
        let outcomes = LabelValues(
            "outcome", PhoneVerificationReport.Outcome.allCases.map(\.name),
            "`verified`, `mismatch`, `confirmed` when the session presents the confirmation, or the error, with "
                + "`refused_by_carrier` for all of the operators' own codes")
        let template = RowTemplate(
            "latchkey_phone_verifications_total", .counter, "Outcomes of verifications of phone numbers.",
            rows: [
                .init(
                    "operator",
                    "the operator's name in the configuration; empty if the request did not come to an operator; "
                        + "`other` for all beyond \(Self.capacity)")
            ], by: [outcomes])
        self.template = template
        total = BoundedRows(capacity: Self.capacity, other: template.counter(["other"])) { template.counter([$0]) }
    }

    var metrics: [any Metric] { [RowsMetric(template.description, in: total) { $0 }] }

    func count(_ report: PhoneVerificationReport) {
        total[report.operatorName ?? ""].add(at: Self.places[report.outcome] ?? 0)
    }
}
