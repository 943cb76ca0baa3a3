import Testing

@testable import SignIn

@Suite("For how long a sign-in lets its commit wait for others")
struct CommitDelayTests {
    @Test(
        "A twentieth of its time, at most 5 ms, none for a quick one",
        arguments: [
            // Nanoseconds since it began, and of the delay.
            (0, 0), (1_000_000, 0), (19_999_999, 0), (20_000_000, 1_000_000), (50_000_000, 2_500_000),
            (100_000_000, 5_000_000), (100_000_020, 5_000_000), (30_000_000_000, 5_000_000), (.max, 5_000_000),
        ] as [(UInt64, UInt64)])
    func allowed(elapsed: UInt64, delay: UInt64) {
        #expect(CommitDelay.allowed(after: elapsed) == delay)
    }
}
