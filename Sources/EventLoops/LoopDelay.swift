/// For how long what a loop serves may have waited for it, and whether the loop is overloaded. It reads no clock.
///
/// What a turn finds ready became ready after the beginning of the turn before. So it has waited for at most as long as
/// the loop has been busy since then. If a turn leaves something for the next one, the time still counts from the
/// earlier beginning. The time in which the loop waits for events does not count, nor that in which the process is
/// stopped. After a longer pause nothing has waited.
package struct LoopDelay {
    /// A turn is late if what it served may have waited for longer.
    package static let allowed = Duration.milliseconds(100)
    /// The same during an overload: work that is refused early keeps the delay of the rest short.
    package static let allowedInOverload = Duration.milliseconds(20)
    /// The loop is overloaded when all turns of this time were late. A single long turn is not an overload.
    package static let patience = Duration.milliseconds(200)
    /// The overload is over when no turn has been late for so long.
    package static let recoveryTime = Duration.seconds(5)

    /// In a longer pause the loop had nothing to do. In a shorter one another thread may have had the processor.
    private static let pause = Nanoseconds(count: 10_000_000)
    /// ``allowed`` and ``allowedInOverload``, for the comparisons of each turn.
    private static let limit = Nanoseconds(allowed)
    private static let limitInOverload = Nanoseconds(allowedInOverload)

    /// Whether the loop has more to do than it can.
    package private(set) var isOverloaded = false
    /// The beginning of the oldest turn since which something may wait. Pauses move it.
    private var waitingSince: MonotonicTime
    private var turnBegan: MonotonicTime
    private var turnEnded: MonotonicTime
    private var hasRest = false
    /// The first of the late turns without another one between them.
    private var lateSince: MonotonicTime?
    private var lastLate: MonotonicTime

    package init(at now: MonotonicTime) {
        (waitingSince, turnBegan, turnEnded, lastLate) = (now, now, now, now)
    }

    /// For how long what is served now may have waited.
    package func delay(at now: MonotonicTime) -> Duration { waitingSince.duration(to: now) }

    /// For how long what is served now has waited, if it may be refused: during an overload, and if that is too long.
    package func excess(at now: @autoclosure () -> MonotonicTime) -> Duration? {
        guard isOverloaded else { return nil }
        let delay = delay(at: now())
        return delay > LoopDelay.allowedInOverload ? delay : nil
    }

    /// The loop has stopped to wait for events.
    package mutating func beginTurn(at now: MonotonicTime) {
        let pause = turnEnded.nanoseconds(to: now)
        waitingSince = pause < LoopDelay.pause || hasRest ? waitingSince.advanced(by: pause) : now
        turnBegan = now
    }

    /// - Parameter hasRest: Whether something that was ready at the beginning may still wait.
    package mutating func endTurn(at now: MonotonicTime, hasRest: Bool) {
        note(waitingSince.nanoseconds(to: now), at: now)
        if !hasRest { waitingSince = turnBegan }
        turnEnded = now
        self.hasRest = hasRest
    }

    private mutating func note(_ delay: Nanoseconds, at now: MonotonicTime) {
        guard delay > (isOverloaded ? LoopDelay.limitInOverload : LoopDelay.limit) else {
            lateSince = nil
            if isOverloaded, lastLate.duration(to: now) >= LoopDelay.recoveryTime { isOverloaded = false }
            return
        }
        lastLate = now
        let since = lateSince ?? now
        lateSince = since
        if since.duration(to: now) >= LoopDelay.patience { isOverloaded = true }
    }
}
