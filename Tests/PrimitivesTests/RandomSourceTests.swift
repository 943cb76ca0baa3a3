import Primitives
import Testing

@Suite("The system's random source")
struct RandomSourceTests {
    @Test("fills every length with other bytes each time", arguments: [1, 16, 43, 255, 256, 257, 512, 513, 5000])
    func lengths(_ count: Int) {
        var seen: Set<[UInt8]> = []
        for _ in 0..<20 {
            let bytes = RandomSource.system.bytes(count)
            #expect(bytes.count == count)
            // A byte or two may repeat by chance.
            if count > 2 { #expect(seen.insert(bytes).inserted) }
        }
        var used: Set<UInt8> = []
        for _ in 0..<(8192 / count + 1) { used.formUnion(RandomSource.system.bytes(count)) }
        #expect(used.count == 256)
    }
}
