/// What did not come.
public struct TooLate: Error {
    public let seconds: Int
}

/// Waits for what comes by itself and announces nothing, such as another process' work: looks again every 5 ms.
/// - Throws: ``TooLate`` after half a minute, and what `isSo` throws.
public func until(_ isSo: () async throws -> Bool) async throws {
    let end = ContinuousClock.now + .seconds(30)
    while try await !isSo() {
        guard ContinuousClock.now < end else { throw TooLate(seconds: 30) }
        try await Task.sleep(for: .milliseconds(5))
    }
}
