package import Foundation

/// The time, and waiting.
package struct Pace: Sendable {
    package let now: @Sendable () -> Date
    /// In seconds.
    package let sleep: @Sendable (TimeInterval) async throws -> Void

    package init(
        now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (TimeInterval) async throws -> Void
    ) {
        self.now = now
        self.sleep = sleep
    }

    package static let system = Pace(
        now: { Date() }, sleep: { try await Task.sleep(nanoseconds: UInt64(max(0, $0) * 1_000_000_000)) })
}
