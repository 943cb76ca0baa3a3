package import Logging
import Synchronization

/// The lowest severity that is logged, shared by loggers. It may change while they log.
package final class LogThreshold: Sendable {
    private static let levels: [Logger.Level] = [.trace, .debug, .info, .notice, .warning, .error, .critical]
    /// Above every level: nothing is logged.
    private static let off = levels.count

    private let value: Atomic<Int>

    /// - Parameter level: Nil for nothing.
    package init(_ level: Logger.Level?) { value = Atomic(Self.number(level)) }

    /// The level; nil if nothing is logged.
    package var level: Logger.Level? {
        get {
            let value = value.load(ordering: .relaxed)
            return Self.levels.indices.contains(value) ? Self.levels[value] : nil
        }
        set { value.store(Self.number(newValue), ordering: .relaxed) }
    }

    private static func number(_ level: Logger.Level?) -> Int {
        level.flatMap { levels.firstIndex(of: $0) } ?? off
    }
}
