import Logging
import Primitives
import Storage

/// Removes from the store, once a minute and in small steps, what has expired.
struct Housekeeping: Sendable {
    private static let pause = Duration.seconds(60)
    private static let rowsPerStep = 500

    let store: any Store
    let clock: WallClock
    let logger: Logger

    /// Goes on until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: Housekeeping.pause)
                try await purge()
            } catch let error as StorageError {
                logger.warning("could not remove what has expired", metadata: ["error": "\(error.code)"])
            } catch {
                return
            }
        }
    }

    private func purge() async throws {
        var removed = 0
        while !Task.isCancelled {
            let count = try await store.purgeExpired(at: clock.now(), limit: Housekeeping.rowsPerStep)
            removed += count
            guard count >= Housekeeping.rowsPerStep else { break }
        }
        if removed > 0 { logger.debug("removed what has expired", metadata: ["rows": "\(removed)"]) }
    }
}
