/// Decides by its id whether a new trace is recorded. A trace that a caller began follows the caller's decision.
package struct SpanSampler: Sendable, Hashable {
    /// The part of the ids that are recorded, of 2^56.
    private let threshold: UInt64
    private let takesAll: Bool

    /// - Parameter ratio: From 0 for none to 1 for all.
    package init(ratio: Double) {
        takesAll = ratio >= 1
        threshold = UInt64(max(0, min(ratio, 1)) * Double(1 << 56 as UInt64))
    }

    /// Whether the trace is recorded. The last seven bytes decide: the only ones that are random in all traces (W3C
    /// Trace Context Level 2, section 2.2.3.3), so that programs with one ratio decide alike.
    package func records(_ traceID: [UInt8]) -> Bool {
        takesAll || traceID.suffix(7).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } < threshold
    }
}
