import Primitives
import Synchronization
import TestSupport
import Testing

@testable import SignIn

/// A value that is read from the store when the last read is too old.
@Suite("A read that is cached")
struct CachedReadTests {
    private struct Unavailable: Error {}

    @Test(
        "It is read again once it is as old as its lifetime, and after the clock was set back",
        arguments: [(0, 1), (9, 1), (10, 2), (-1, 2)] as [(Int64, Int)])
    func lifetime(seconds: Int64, count: Int) async throws {
        let clock = ManualClock()
        let reads = Mutex(0)
        let read = CachedRead(lifetime: 10, clock: clock.wallClock) { () async throws(Unavailable) -> Int in
            reads.withLock {
                $0 += 1; return $0
            }
        }
        #expect(try await read() == 1)
        clock.advance(bySeconds: seconds)
        #expect(try await read() == count)
    }

    @Test("A failure is not kept")
    func failure() async throws {
        let reads = Mutex(0)
        let read = CachedRead(lifetime: 10, clock: ManualClock().wallClock) { () async throws(Unavailable) -> Int in
            guard
                reads.withLock({
                    $0 += 1; return $0
                }) > 1
            else { throw Unavailable() }
            return 2
        }
        await #expect(throws: Unavailable.self) { try await read() }
        #expect(try await read() == 2)
    }
}
