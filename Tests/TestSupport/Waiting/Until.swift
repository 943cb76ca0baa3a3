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
