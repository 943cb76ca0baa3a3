import CommandLineSupport
import Foundation
import Synchronization
import TestSupport
import Testing

/// Signals reach a program from the moment it listens for them. The tests send SIGUSR2 to this process.
@Suite(.serialized) struct SignalSourceTests {
    private static let repetitions = 200
    /// Never cancelled: a signal that arrives after a test must not end the process of all tests.
    private static let keeper = SignalSource(SIGUSR2) {}

    init() { _ = Self.keeper }

    @Test("A signal sent right after the source was made is not lost")
    func sentAtOnce() async throws {
        for repetition in 1...Self.repetitions {
            let count = Mutex(0)
            let change = ChangeSignal()
            let source = SignalSource(SIGUSR2) {
                count.withLock { $0 += 1 }
                change.post()
            }
            kill(getpid(), SIGUSR2)
            let arrived: Bool? = await change.wait(atMostSeconds: 10) { count.withLock { $0 } > 0 ? true : nil }
            withExtendedLifetime(source) {}
            try #require(arrived == true, "in repetition \(repetition)")
        }
    }

    @Test("A signal sent before anybody reads the sequence waits there, and several are one")
    func sentBeforeReading() async throws {
        let signals = SignalSource.signals(SIGUSR2)
        for _ in 1...3 { kill(getpid(), SIGUSR2) }
        let first = Mutex(false)
        let change = ChangeSignal()
        let reader = Task {
            for await _ in signals {
                first.withLock { $0 = true }
                change.post()
            }
        }
        let arrived: Bool? = await change.wait(atMostSeconds: 10) { first.withLock { $0 } ? true : nil }
        reader.cancel()
        #expect(arrived == true)
    }
}
