import OutboundHTTP
import Testing

struct PerHostQueueTests {
    @Test("A host's exchanges start up to its limit, then wait")
    func limits() {
        var lines = PerHostQueue<String, Int>(maximumActive: 2)
        #expect(lines.starts(1, at: "a") == true)
        #expect(lines.starts(2, at: "a") == true)
        #expect(lines.starts(3, at: "a") == false)
        #expect(lines.starts(5, at: "b") == true)
    }

    @Test("A place that becomes free goes to the request that waited longest")
    func order() {
        var lines = PerHostQueue<String, Int>(maximumActive: 1)
        for number in 0...500 { _ = lines.starts(number, at: "a") }
        for number in 1...500 { #expect(lines.leave("a") == number) }
        #expect(lines.leave("a") == nil)
    }

    @Test("A host without exchanges takes no memory")
    func forgotten() {
        var lines = PerHostQueue<String, Int>(maximumActive: 2)
        _ = lines.starts(1, at: "a")
        _ = lines.starts(2, at: "a")
        #expect(lines.leave("a") == nil)
        #expect(lines.hostCount == 1)
        #expect(lines.leave("a") == nil)
        #expect(lines.hostCount == 0)
        #expect(lines.leave("a") == nil)
    }

    @Test("Removing waiting requests keeps the others in order, and frees their places")
    func removal() {
        var lines = PerHostQueue<String, Int>(maximumActive: 1)
        for number in 0...4 { _ = lines.starts(number, at: "a") }
        #expect(lines.removeWaiting { $0.isMultiple(of: 2) } == [2, 4])
        #expect(lines.waiting == [1, 3])
        #expect(lines.starts(5, at: "a") == false)
        #expect(lines.leave("a") == 1)
        #expect(lines.leave("a") == 3)
        #expect(lines.leave("a") == 5)
    }
}
