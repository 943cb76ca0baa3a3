import OpenIDConnect
import Primitives
import Storage
import Synchronization
import Testing

@testable import SignIn

@Suite("For how long a sign-in lets its commit wait for others")
struct AllowedCommitDelayTests {
    @Test(
        "A twentieth of its time, at most 5 ms, none for a quick one",
        arguments: [
            // Nanoseconds since it began, and of the delay.
            (0, 0), (1_000_000, 0), (19_999_999, 0), (20_000_000, 1_000_000), (50_000_000, 2_500_000),
            (100_000_000, 5_000_000), (100_000_020, 5_000_000), (30_000_000_000, 5_000_000), (.max, 5_000_000),
        ] as [(UInt64, UInt64)])
    func allowed(elapsed: UInt64, delay: UInt64) {
        #expect(AllowedCommitDelay.nanoseconds(after: elapsed) == delay)
    }

    /// A clock that stands still, except in a wait.
    private final class Timer: CommitTimer {
        private let state = Mutex<(time: UInt64, waits: [UInt64])>((1_000, []))

        var nanoseconds: UInt64 { state.withLock { $0.time } }
        var waits: [UInt64] { state.withLock { $0.waits } }

        func wait(nanoseconds: UInt64) {
            state.withLock { state in
                state.time += nanoseconds
                state.waits.append(nanoseconds)
            }
        }

        func end() {}
    }

    @Test("It is what the store delays the commit of a sign-in at a slow carrier by")
    func passedOn() async throws {
        let timer = Timer()
        let app = try TestApp(store: TestStore(delayingBy: timer))
        app.carrier.script { script in
            script.token = { [carrier = app.carrier] _ throws(OutboundError) in
                let stopwatch = Stopwatch()
                while stopwatch.nanoseconds < 25_000_000 { await Task.yield() }
                return carrier.tokens()
            }
        }
        // The first one does not wait, because nothing is known of others.
        for number in 0..<2 {
            #expect(try await app.signIn(SignInBody().code("CODE-\(number)")).status == 200)
        }
        #expect(timer.waits.count == 1)
        #expect((1_250_000...5_000_000).contains(try #require(timer.waits.first)))
    }
}
