import OutboundHTTP
import Testing

struct PerHostQueueTests {
    @Test("A host's exchanges start up to its limit, then wait, then are refused")
    func limits() {
        var lines = PerHostQueue<String, Int>(maximumActive: 2, maximumWaiting: 1)
        #expect(lines.admit(1, at: "a") == .start)
        #expect(lines.admit(2, at: "a") == .start)
        #expect(lines.admit(3, at: "a") == .wait)
        #expect(lines.admit(4, at: "a") == .overloaded)
        #expect(lines.admit(5, at: "b") == .start)
    }

    @Test("A place that becomes free goes to the request that waited longest")
    func order() {
        var lines = PerHostQueue<String, Int>(maximumActive: 1, maximumWaiting: 500)
        for number in 0...500 { _ = lines.admit(number, at: "a") }
        for number in 1...500 { #expect(lines.leave("a") == number) }
        #expect(lines.leave("a") == nil)
    }

    @Test("A host without exchanges takes no memory")
    func forgotten() {
        var lines = PerHostQueue<String, Int>(maximumActive: 2, maximumWaiting: 1)
        _ = lines.admit(1, at: "a")
        _ = lines.admit(2, at: "a")
        #expect(lines.leave("a") == nil)
        #expect(lines.hostCount == 1)
        #expect(lines.leave("a") == nil)
        #expect(lines.hostCount == 0)
        #expect(lines.leave("a") == nil)
    }

    @Test("Removing waiting requests keeps the others in order, and frees their places")
    func removal() {
        var lines = PerHostQueue<String, Int>(maximumActive: 1, maximumWaiting: 4)
        for number in 0...4 { _ = lines.admit(number, at: "a") }
        #expect(lines.removeWaiting { $0.isMultiple(of: 2) } == [2, 4])
        #expect(lines.waiting == [1, 3])
        #expect(lines.admit(5, at: "a") == .wait)
        #expect(lines.leave("a") == 1)
        #expect(lines.leave("a") == 3)
        #expect(lines.leave("a") == 5)
    }
}
