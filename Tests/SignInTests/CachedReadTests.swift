import Primitives
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
        let read = CachedRead<Int, Unavailable>(lifetime: 10, clock: clock.wallClock)
        #expect(try await read.value { () async throws(Unavailable) in 1 } == 1)
        clock.advance(bySeconds: seconds)
        #expect(try await read.value { () async throws(Unavailable) in 2 } == count)
    }

    @Test("A failure is not kept")
    func failure() async throws {
        let read = CachedRead<Int, Unavailable>(lifetime: 10, clock: ManualClock().wallClock)
        await #expect(throws: Unavailable.self) {
            try await read.value { () async throws(Unavailable) in throw Unavailable() }
        }
        #expect(try await read.value { () async throws(Unavailable) in 2 } == 2)
    }
}
