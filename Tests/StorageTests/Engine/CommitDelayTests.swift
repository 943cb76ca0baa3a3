import Testing

@testable import Storage

@Suite("The delay of a commit for works that share it")
struct CommitDelayTests {
    private static let millisecond: UInt64 = 1_000_000

    /// The delay after works that allowed one each have arrived at a distance, until its average is known.
    private func afterArrivals(every gap: UInt64, allowing delay: UInt64) -> (CommitDelay, now: UInt64) {
        var commitDelay = CommitDelay()
        var now: UInt64 = 0
        for _ in 0..<200 {
            now += gap
            commitDelay.admit(allowing: delay, at: now, isFirst: true)
        }
        return (commitDelay, now)
    }

    @Test(
        "A work waits for as long as it allows if another one is likely within that time",
        arguments: [
            // Distance of the works, allowed delay, what the work waits.
            (1, 2, 2), (2, 5, 5), (0, 1, 1), (2, 2, 0), (3, 2, 0), (1_000, 5, 0), (1, 0, 0),
        ] as [(UInt64, UInt64, UInt64)])
    func likelihood(gap: UInt64, allowed: UInt64, expected: UInt64) {
        let (delay, now) = afterArrivals(every: gap * Self.millisecond, allowing: allowed * Self.millisecond)
        #expect(delay.remaining(waiting: 1) { now } == expected * Self.millisecond)
    }

    @Test("The first works do not wait, before anything is known of others")
    func first() {
        var delay = CommitDelay()
        delay.admit(allowing: Self.millisecond, at: 7, isFirst: true)
        #expect(delay.isOver(waiting: 1))
    }

    @Test(
        "After a silence, the first of many works that came together before waits; after rare ones, the 23rd does",
        arguments: [(0, 0), (1_000, 22)] as [(UInt64, Int)])
    func silence(formerGap: UInt64, undelayed: Int) {
        var (delay, now) = afterArrivals(every: formerGap * Self.millisecond, allowing: Self.millisecond)
        now += 3_600_000 * Self.millisecond
        for _ in 0..<undelayed {
            delay.admit(allowing: Self.millisecond, at: now, isFirst: true)
            #expect(delay.isOver(waiting: 1))
        }
        delay.admit(allowing: Self.millisecond, at: now, isFirst: true)
        #expect(!delay.isOver(waiting: 1))
    }

    @Test("A work that allows more than those before it does not wait if they come less often")
    func differentDelays() {
        var (delay, now) = afterArrivals(every: 0, allowing: 5 * Self.millisecond)
        for _ in 0..<200 {
            now += 12 * Self.millisecond
            delay.admit(allowing: Self.millisecond, at: now, isFirst: true)
        }
        now += 12 * Self.millisecond
        delay.admit(allowing: 5 * Self.millisecond, at: now, isFirst: true)
        #expect(delay.isOver(waiting: 1))
    }

    @Test("The work whose time ends first ends the delay of all", arguments: [(5, 1), (1, 5)] as [(UInt64, UInt64)])
    func earliest(former: UInt64, latter: UInt64) {
        var (delay, now) = afterArrivals(every: 0, allowing: Self.millisecond)
        delay.admit(allowing: former * Self.millisecond, at: now, isFirst: true)
        delay.admit(allowing: latter * Self.millisecond, at: now, isFirst: false)
        #expect(delay.remaining(waiting: 2) { now } == Self.millisecond)
    }

    @Test("A work that allows no delay ends that of all, also of works that arrive after it")
    func impatient() {
        var (delay, now) = afterArrivals(every: 0, allowing: Self.millisecond)
        #expect(!delay.isOver(waiting: 1))
        delay.admit(allowing: 0, at: 0, isFirst: false)
        #expect(delay.isOver(waiting: 2))
        delay.admit(allowing: Self.millisecond, at: now, isFirst: false)
        #expect(delay.isOver(waiting: 3))
        // The next batch.
        delay.admit(allowing: Self.millisecond, at: now, isFirst: true)
        #expect(!delay.isOver(waiting: 1))
    }

    @Test("Works do not wait once there are enough, or after their time")
    func end() {
        let (delay, now) = afterArrivals(every: 0, allowing: Self.millisecond)
        #expect(!delay.isOver(waiting: CommitDelay.usualEnough - 1))
        #expect(delay.isOver(waiting: CommitDelay.usualEnough))
        #expect(delay.remaining(waiting: 1) { now + Self.millisecond - 1 } == 1)
        #expect(delay.remaining(waiting: 1) { now + Self.millisecond } == 0)
        #expect(delay.remaining(waiting: 1) { .max } == 0)
    }

    @Test("Delays and times at the ends of their range are no fault", arguments: [0, 1, UInt64.max - 1, .max])
    func extremes(time: UInt64) {
        var delay = CommitDelay()
        for allowed in [UInt64.max, 1, .max] {
            delay.admit(allowing: allowed, at: time, isFirst: true)
            delay.admit(allowing: allowed, at: 0, isFirst: false)
        }
        _ = delay.remaining(waiting: 1) { time }
    }
}
