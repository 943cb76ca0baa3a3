import Logging
import Primitives

/// The durations of the steps of one sign-in.
struct StepTimes: Sendable {
    /// Room for the steps of most sign-ins at once.
    private static let usualSteps = 6

    private let stopwatch = Stopwatch()
    private var current: (step: SignInReport.Step, began: UInt64)?
    /// The last step of the sign-in itself. ``SignInReport/Step/recall`` may follow a failure, and counts only if it is
    /// the only step.
    private(set) var last: SignInReport.Step?
    /// Each step once, in the order in which they first ended.
    private(set) var steps: [SignInReport.StepTime] = []

    /// Starts a step, and ends the step before.
    mutating func begin(_ step: SignInReport.Step) {
        current = (step, end())
        if step != .recall || last == nil { last = step }
    }

    /// Ends the current step, if there is one.
    /// - Returns: Nanoseconds since the sign-in began.
    @discardableResult
    mutating func end() -> UInt64 {
        let now = stopwatch.nanoseconds
        guard let ended = current else { return now }
        current = nil
        if let place = steps.firstIndex(where: { $0.step == ended.step }) {
            steps[place].nanoseconds += now - ended.began
            steps[place].end = now
        } else {
            if steps.isEmpty { steps.reserveCapacity(Self.usualSteps) }
            steps.append(.init(step: ended.step, nanoseconds: now - ended.began, start: ended.began, end: now))
        }
        return now
    }

    /// Nanoseconds since the sign-in began.
    var elapsed: UInt64 { stopwatch.nanoseconds }

    /// Adds `token_ms` and so on for the steps, and `ms` for the whole sign-in.
    func write(to metadata: inout Logger.Metadata, all nanoseconds: UInt64) {
        for time in steps {
            metadata["\(time.step.rawValue)_ms"] = .stringConvertible(Stopwatch.milliseconds(time.nanoseconds))
        }
        metadata["ms"] = .stringConvertible(Stopwatch.milliseconds(nanoseconds))
    }
}
