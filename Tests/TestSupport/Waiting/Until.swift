import Foundation

/// A condition did not become true in time.
public struct TooLate: Error {
    public let seconds: Int
}

/// Waits for a condition that nothing signals, such as another process's work. Checks it every 5 ms.
/// - Throws: ``TooLate`` after half a minute, times ``Patience/factor``; and the errors of `isSo`.
public func until(_ isSo: () async throws -> Bool) async throws {
    let seconds = 30 * Patience.factor
    let end = ContinuousClock.now + .seconds(seconds)
    while try await !isSo() {
        guard ContinuousClock.now < end else { throw TooLate(seconds: seconds) }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// How much longer than usual tests wait before they give up.
public enum Patience {
    /// 4, because a machine may do much else; or what the environment variable `LATCHKEY_TEST_PATIENCE` says, if it is
    /// more: programs with a sanitizer are several times slower.
    public static let factor = max(4, environment["LATCHKEY_TEST_PATIENCE"].flatMap { Int($0) } ?? 4)

    /// The sanitizers' variables, for programs that get no other environment.
    public static let sanitizerOptions = environment.filter {
        ["ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"].contains($0.key)
    }

    private static let environment = ProcessInfo.processInfo.environment
}
