import Testing

@testable import Primitives

@Suite struct RetryDelayTests {
    private func delays(_ byte: UInt8, _ count: Int) -> [Duration] {
        let random = RandomSource { [UInt8](repeating: byte, count: $0) }
        var retry = RetryDelay()
        return (0..<count).map { _ in retry.next(after: nil, random) }
    }

    @Test("The delay doubles up to a minute; chance takes up to half of it")
    func doubling() {
        let longest: [Double] = [1, 2, 4, 8, 16, 32, 60, 60, 60]
        #expect(delays(0xff, 9) == longest.map { Duration.seconds($0) })
        #expect(delays(0, 9) == longest.map { Duration.seconds($0 / 2) })
    }

    @Test("It is no shorter than the receiver asks for, and begins anew after a success")
    func receiver() {
        let random = RandomSource { [UInt8](repeating: 0xff, count: $0) }
        var retry = RetryDelay()
        #expect(retry.next(after: .seconds(30), random) == .seconds(30))
        #expect(retry.next(after: .seconds(1), random) == .seconds(2))
        retry.reset()
        #expect(retry.next(after: .zero, random) == .seconds(1))
    }
}
