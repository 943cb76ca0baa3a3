import Primitives
import Synchronization
import TestSupport
import Testing

@Suite("Operations that run once per key")
final class SingleFlightTests: Sendable {
    private let flights = SingleFlight<String, Int>()
    private let begun = Mutex(0)
    private let kept = Mutex<Int?>(nil)
    private let gate = Gate()

    /// An operation that waits at the gate and returns how many began before it.
    private func run(_ key: String, unless decided: (Int) -> Int? = { _ in nil }) async -> Int {
        await flights.value(for: key, unless: decided) {
            let number = self.begun.withLock { count in
                count += 1
                return count
            }
            await self.gate.pass()
            return number
        }
    }

    /// A caller that has begun or joined the operation by the time that this returns.
    private func call(
        _ key: String, unless decided: @escaping @Sendable (Int) -> Int? = { _ in nil }
    ) -> Task<Int, Never> {
        Task.immediate { await self.run(key, unless: decided) }
    }

    @Test("Callers of one key share an operation; the next caller after its end begins another")
    func shared() async {
        let callers = [call("a"), call("a"), call("a")]
        #expect(flights.isInFlight("a"))
        gate.open()
        for caller in callers { #expect(await caller.value == 1) }
        #expect(!flights.isInFlight("a"))
        #expect(await run("a") == 2)
    }

    @Test("Keys do not wait for each other")
    func keys() async {
        async let first = run("a")
        async let second = run("b")
        await gate.untilWaiting(2)
        #expect(!flights.isInFlight("c"))
        gate.open()
        #expect(await Set([first, second]) == [1, 2])
    }

    @Test("A caller that is cancelled ends neither the operation nor the other callers' wait")
    func cancellation() async {
        let callers = [call("a"), call("a")]
        for caller in callers { caller.cancel() }
        let last = call("a")
        gate.open()
        for caller in callers + [last] { #expect(await caller.value == 1) }
    }

    @Test("An operation goes on after its only caller was cancelled")
    func abandoned() async {
        let caller = Task { await run("a") }
        await gate.untilWaiting()
        caller.cancel()
        #expect(flights.isInFlight("a"))
        gate.open()
        #expect(await caller.value == 1)
    }

    @Test("A decision answers in place of a new operation, and is told how many are under way")
    func decided() async {
        #expect(await run("a", unless: { $0 == 0 ? -1 : nil }) == -1)
        #expect(begun.withLock(\.self) == 0)
        let first = call("a")
        #expect(await run("b", unless: { $0 >= 1 ? -2 : nil }) == -2)
        // Joining needs no decision.
        let second = call("a", unless: { _ in -3 })
        gate.open()
        #expect(await first.value == 1)
        #expect(await second.value == 1)
    }

    @Test("A caller that missed an operation sees the value it left")
    func missed() async {
        for _ in 0..<100 {
            kept.withLock { $0 = nil }
            begun.withLock { $0 = 0 }
            await withTaskGroup { group in
                for _ in 0..<8 { group.addTask { _ = await self.runUnlessKept() } }
            }
            #expect(begun.withLock(\.self) == 1)
        }
    }

    private func runUnlessKept() async -> Int {
        await flights.value(for: "a", unless: { _ in self.kept.withLock(\.self) }) {
            self.begun.withLock { $0 += 1 }
            self.kept.withLock { $0 = 7 }
            return 7
        }
    }
}
