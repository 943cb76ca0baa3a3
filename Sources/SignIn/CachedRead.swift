import Primitives
import Synchronization

/// A value that is read from the store when it is needed and the last read is too old. Callers that need it at the same
/// time share one read, so that any number of requests cause one read in `lifetime` seconds.
final class CachedRead<Value: Sendable, Failure: Error>: Sendable {
    private let lifetime: Int64
    private let clock: WallClock
    private let read: @Sendable () async throws(Failure) -> Value
    private let last = Mutex<(value: Value, time: Timestamp)?>(nil)
    private let reads = SingleFlight<Int, Result<Value, Failure>>()

    /// - Parameters:
    ///   - lifetime: How long a value that was read is used, in seconds. A failure is not kept.
    ///   - read: Reads the value anew.
    init(lifetime: Int64, clock: WallClock, read: @escaping @Sendable () async throws(Failure) -> Value) {
        self.lifetime = lifetime
        self.clock = clock
        self.read = read
    }

    /// The value that was read last, however old it is.
    var lastValue: Value? { last.withLock { $0?.value } }

    /// The value, read again if it is too old.
    func callAsFunction() async throws(Failure) -> Value {
        let now = clock.now()
        if let value = current(at: now) { return value }
        return try await reads.value(for: 0, unless: { _ in self.current(at: now).map { .success($0) } }) {
            do throws(Failure) {
                let value = try await self.read()
                self.last.withLock { $0 = (value, now) }
                return .success(value)
            } catch {
                return .failure(error)
            }
        }.get()
    }

    /// A clock that was set back makes what was read old.
    private func current(at now: Timestamp) -> Value? {
        last.withLock { last in
            guard let last, last.time <= now, now < last.time.advanced(bySeconds: lifetime) else { return nil }
            return last.value
        }
    }
}
