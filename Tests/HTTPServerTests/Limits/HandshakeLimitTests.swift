import EventLoops
import HTTPServer
import Synchronization
import Testing

@Suite("The limit of handshakes")
struct HandshakeLimitTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000)

    @Test("The oldest handshake of an address is cut for a new one of it after one second")
    func oldest() {
        let limit = HandshakeLimit(maximum: 2)
        let cut = EvictionRecorder()
        let first = cut.slot(1, at: start)
        #expect(limit.enter(first, at: start))
        let half = start.advanced(by: .milliseconds(500))
        #expect(limit.enter(cut.slot(2, at: half), at: half))
        let early = start.advanced(by: .milliseconds(999))
        #expect(!limit.enter(cut.slot(3, at: early), at: early))
        #expect(cut.numbers == [])
        let due = start.advanced(by: .seconds(1))
        #expect(limit.enter(cut.slot(4, at: due), at: due))
        #expect(cut.numbers == [1] && limit.count == 2)
        // The first handshake was cut and is no longer counted.
        limit.leave(first)
        #expect(limit.count == 2)
        let beforeSecond = start.advanced(by: .milliseconds(1499))
        #expect(!limit.enter(cut.slot(5, at: beforeSecond), at: beforeSecond))
        let second = start.advanced(by: .milliseconds(1500))
        #expect(limit.enter(cut.slot(6, at: second), at: second))
        #expect(cut.numbers == [1, 2])
    }

    @Test("A handshake of another address is accepted at once, however many one address begins")
    func flood() {
        let limit = HandshakeLimit(maximum: 8)
        let cut = EvictionRecorder()
        for number in 0..<8 { #expect(limit.enter(cut.slot(number, of: "10.0.0.1", at: start), at: start)) }
        for number in 0..<4 {
            #expect(limit.enter(cut.slot(100 + number, of: "10.0.0.\(number + 2)", at: start), at: start))
            #expect(!limit.enter(cut.slot(200, of: "10.0.0.1", at: start), at: start))
        }
        #expect(cut.numbers.count == 4 && cut.numbers.allSatisfy { $0 < 8 })
    }

    @Test("Of handshakes of as many subnets, the oldest gives way after one second")
    func manySubnets() {
        let limit = HandshakeLimit(maximum: 8)
        let cut = EvictionRecorder()
        for number in 0..<8 {
            let time = start.advanced(by: .milliseconds(100 * number))
            #expect(limit.enter(cut.slot(number, of: "10.0.\(number).1", at: time), at: time))
        }
        for number in 0..<8 {
            let early = start.advanced(by: .milliseconds(999 + 100 * number))
            #expect(!limit.enter(cut.slot(100, of: "10.1.\(number).1", at: early), at: early))
            let due = start.advanced(by: .milliseconds(1000 + 100 * number))
            #expect(limit.enter(cut.slot(200, of: "10.1.\(number).1", at: due), at: due))
        }
        #expect(cut.numbers == Array(0..<8))
    }

    @Test("A completed handshake makes room")
    func done() {
        let limit = HandshakeLimit(maximum: 2)
        let cut = EvictionRecorder()
        for number in 0..<100 {
            let (first, second) = (cut.slot(number, at: start), cut.slot(number, at: start))
            #expect(limit.enter(first, at: start) && limit.enter(second, at: start))
            #expect(!limit.enter(cut.slot(number, at: start), at: start))
            limit.leave(second)
            limit.leave(first)
        }
        #expect(limit.count == 0)
    }
}
