import EventLoops
import Synchronization
import Testing

@Suite("The delay of an event loop")
struct LoopDelayTests {
    /// A pause and the turn after it, in milliseconds.
    struct Turn: Sendable {
        var pause: UInt64 = 0
        let length: UInt64
        var hasRest = false
    }

    /// What a loop says after some turns.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let turns: [Turn]
        /// In milliseconds, at the beginning of one more turn.
        let delay: Int
        let isOverloaded: Bool
    }

    private static func turns(_ count: Int, of length: UInt64, pause: UInt64 = 0) -> [Turn] {
        Array(repeating: Turn(pause: pause, length: length), count: count)
    }

    private static let rows = [
        Row(testDescription: "no turn yet", turns: [], delay: 0, isOverloaded: false),
        Row(
            testDescription: "what is ready now came during the last turn", turns: turns(3, of: 20), delay: 20,
            isOverloaded: false),
        Row(
            testDescription: "what is left waits since the turn that found it",
            turns: [Turn(length: 10, hasRest: true), Turn(length: 15, hasRest: true)], delay: 25, isOverloaded: false),
        Row(
            testDescription: "nothing is left of what a turn without a rest found",
            turns: [Turn(length: 10, hasRest: true), Turn(length: 15), Turn(length: 5)], delay: 5,
            isOverloaded: false),
        Row(
            testDescription: "short pauses do not count", turns: turns(20, of: 60, pause: 9) + [Turn(length: 2)],
            delay: 2, isOverloaded: true),
        Row(
            testDescription: "after a pause nothing has waited", turns: turns(20, of: 60, pause: 10), delay: 60,
            isOverloaded: false),
        Row(
            testDescription: "after a pause, what was left has waited, but not for the pause",
            turns: [Turn(length: 10, hasRest: true), Turn(pause: 3_600_000, length: 15, hasRest: true)], delay: 25,
            isOverloaded: false),
        Row(
            testDescription: "one long turn is no overload", turns: turns(1, of: 60_000), delay: 60_000,
            isOverloaded: false),
        Row(
            testDescription: "late turns for less than the patience", turns: turns(5, of: 60), delay: 60,
            isOverloaded: false),
        Row(testDescription: "late turns for the patience", turns: turns(6, of: 60), delay: 60, isOverloaded: true),
        Row(
            testDescription: "a turn between them that is not late",
            turns: turns(4, of: 60) + turns(2, of: 1) + turns(4, of: 60), delay: 60, isOverloaded: false),
        Row(
            testDescription: "turns at the allowed delay", turns: turns(100, of: 50), delay: 50, isOverloaded: false),
        Row(
            testDescription: "an overload goes on while the delay is above that allowed meanwhile",
            turns: turns(6, of: 60) + turns(1000, of: 11), delay: 11, isOverloaded: true),
        Row(
            testDescription: "an overload goes on until the recoveryTime has lasted",
            turns: turns(6, of: 60) + turns(499, of: 10), delay: 10, isOverloaded: true),
        Row(
            testDescription: "an overload ends after the recoveryTime", turns: turns(6, of: 60) + turns(502, of: 10),
            delay: 10,
            isOverloaded: false),
    ]

    @Test("is that since the turn before, without pauses, and an overload is a delay that lasts", arguments: rows)
    func table(_ row: Row) {
        var milliseconds: UInt64 = 1_000_000
        func now() -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }
        var delay = LoopDelay(at: now())
        for turn in row.turns {
            milliseconds += turn.pause
            delay.beginTurn(at: now())
            milliseconds += turn.length
            delay.endTurn(at: now(), hasRest: turn.hasRest)
        }
        milliseconds += 5
        delay.beginTurn(at: now())
        #expect(delay.delay(at: now()) == .milliseconds(row.delay))
        #expect(delay.isOverloaded == row.isOverloaded)
        let excess = row.isOverloaded && row.delay > 20 ? Duration.milliseconds(row.delay) : nil
        #expect(delay.excess(at: now()) == excess)
    }

    @Test("counts what a turn of a loop has left for the next one")
    func loop() async throws {
        let loop = try EventLoop(label: "delay", tick: .seconds(600))
        let delay = Mutex(Duration.zero)
        try await on(loop) {
            loop.delay = LoopDelay(at: MonotonicTime(nanoseconds: MonotonicTime.now().nanoseconds - 60_000_000_000))
            // More than a turn runs.
            for number in 0..<1000 {
                loop.execute { if number == 999 { delay.withLock { $0 = loop.delay.delay(at: .now()) } } }
            }
        }
        await passed(loop)
        #expect(delay.withLock { $0 } >= .seconds(60))
        try await on(loop) { delay.withLock { $0 = loop.delay.delay(at: .now()) } }
        #expect(delay.withLock { $0 } < .seconds(30))
    }
}
