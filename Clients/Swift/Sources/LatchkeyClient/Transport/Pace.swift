package import Foundation

/// The clock, and how the client waits.
package struct Pace: Sendable {
    package let now: @Sendable () -> Date
    /// Waits for a number of seconds.
    package let sleep: @Sendable (TimeInterval) async throws -> Void

    package init(now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (TimeInterval) async throws -> Void) {
        self.now = now
        self.sleep = sleep
    }

    package static let system = Pace(
        now: { Date() }, sleep: { try await Task.sleep(nanoseconds: UInt64(max(0, $0) * 1_000_000_000)) })
}
