import CLatchkeySystem
import Glibc
import Primitives
import Testing

@Suite("The system's random source")
struct RandomSourceTests {
    @Test("fills every length with other bytes each time", arguments: [1, 16, 43, 255, 256, 257, 1023, 1024, 5000])
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

    @Test("erases what it has handed out, and never hands it out again")
    func erased() {
        var handedOut: [UInt8] = []
        for count in [32, 80, 16, 200, 256, 256, 256, 32, 32, 80] {
            let bytes = Self.random(count)
            handedOut += bytes
            let drawn = Self.drawn()
            #expect(drawn.bytes.dropLast(drawn.left).allSatisfy { $0 == 0 })
            #expect(!Self.contains(drawn.bytes, bytes))
        }
        for start in stride(from: 0, to: handedOut.count - 16, by: 16) {
            let piece = Array(handedOut[start..<start + 16])
            #expect(!Self.contains(Array(handedOut[(start + 16)...]), piece))
        }
    }

    // _Fork runs no handlers of pthread_atfork.
    @Test("gives other bytes to a child process", arguments: ["fork", "_Fork"])
    func forked(_ name: String) throws {
        // The thread has bytes left when the process forks. The tests that ran on it before may have left fewer.
        repeat { _ = Self.random(16) } while Self.drawn().left < 32
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        // Swift does not import fork, because a child may only call functions that are safe in a signal handler, as
        // those below are.
        typealias Fork = @convention(c) () -> pid_t
        let fork = unsafeBitCast(try #require(dlsym(nil, name)), to: Fork.self)
        var bytes: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        let child = fork()
        if child == 0 {
            let result = csystem_random(&bytes, 32)
            _exit(result == 0 && write(ends[1], &bytes, 32) == 32 ? 0 : 1)
        }
        try #require(child > 0)
        var status: Int32 = 0
        #expect(waitpid(child, &status, 0) == child && status == 0)
        #expect(read(ends[0], &bytes, 32) == 32)
        let ofChild = withUnsafeBytes(of: bytes) { Array($0) }
        #expect(ofChild != Self.random(32))
    }

    private static func random(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        #expect(csystem_random(&bytes, count) == 0)
        return bytes
    }

    private static func drawn() -> (bytes: [UInt8], left: Int) {
        var (count, left) = (0, 0)
        let bytes = csystem_random_drawn(&count, &left)
        return (Array(UnsafeRawBufferPointer(start: bytes, count: count)), left)
    }

    private static func contains(_ bytes: [UInt8], _ piece: [UInt8]) -> Bool {
        guard bytes.count >= piece.count else { return false }
        return (0...bytes.count - piece.count).contains { bytes[$0..<$0 + piece.count].elementsEqual(piece) }
    }
}
