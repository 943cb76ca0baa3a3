import EventLoops
import HTTPServer
import Testing

@Suite("The memory for slow clients")
struct MemoryBudgetTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)

    private func time(_ seconds: Int) -> MonotonicTime { start.advanced(by: .seconds(seconds)) }

    @Test("Beyond the budget, the heaviest address loses the connections that have held some for longest")
    func heaviest() {
        let budget = MemoryBudget(maximum: 1000)
        let cut = EvictionRecorder()
        let honest = cut.slot(0, of: "10.0.0.2", at: start)
        budget.hold(300, for: honest, at: start)
        for number in 1...7 {
            budget.hold(100, for: cut.slot(number, of: "10.0.0.1", at: time(number)), at: time(number))
        }
        #expect(budget.bytes == 1000 && cut.numbers == [])
        budget.hold(100, for: cut.slot(8, of: "10.0.0.1", at: time(8)), at: time(8))
        // Down to seven eighths.
        #expect(cut.numbers == [1, 2, 3] && budget.bytes == 800)
        budget.hold(200, for: honest, at: time(9))
        #expect(budget.bytes == 700)
        budget.release(honest)
        #expect(budget.bytes == 500)
    }

    @Test("An address that alone holds more than the budget loses it")
    func alone() {
        let budget = MemoryBudget(maximum: 1000)
        let cut = EvictionRecorder()
        budget.hold(1001, for: cut.slot(1, at: start), at: start)
        #expect(cut.numbers == [1] && budget.bytes == 0)
    }
}
