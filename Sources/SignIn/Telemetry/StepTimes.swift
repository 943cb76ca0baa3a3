import Logging
import Primitives

/// How long the steps of one sign-in take, one after another.
struct StepTimes: Sendable {
    private let stopwatch = Stopwatch()
    private var present: (step: SignInReport.Step, began: UInt64)?
    /// Each step once, in the order in which they first ended, with its nanoseconds; one that was gone back to has all of them.
    private(set) var steps: [(step: SignInReport.Step, nanoseconds: UInt64)] = []

    /// Begins a step, and ends the one before.
    mutating func begin(_ step: SignInReport.Step) { present = (step, end()) }

    /// Ends the step under way, if one is.
    /// - Returns: Nanoseconds since the sign-in began.
    @discardableResult
    mutating func end() -> UInt64 {
        let now = stopwatch.nanoseconds
        guard let ended = present else { return now }
        present = nil
        if let place = steps.firstIndex(where: { $0.step == ended.step }) {
            steps[place].nanoseconds += now - ended.began
        } else {
            steps.append((ended.step, now - ended.began))
        }
        return now
    }

    /// As the log has them: `token_ms` and so on, and `ms` for all of the sign-in.
    func write(to metadata: inout Logger.Metadata, all nanoseconds: UInt64) {
        for (step, nanoseconds) in steps {
            metadata["\(step.rawValue)_ms"] = "\(Stopwatch.milliseconds(nanoseconds))"
        }
        metadata["ms"] = "\(Stopwatch.milliseconds(nanoseconds))"
    }
}
