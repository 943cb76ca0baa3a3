public import Logging
import Synchronization

/// From which severity on is logged, for all loggers that share it. It may change while they log.
public final class LogThreshold: Sendable {
    private static let levels: [Logger.Level] = [.trace, .debug, .info, .notice, .warning, .error, .critical]
    /// Beyond every level there is: nothing is logged.
    private static let off = levels.count

    private let value: Atomic<Int>

    /// - Parameter level: Nil for nothing.
    public init(_ level: Logger.Level?) {
        value = Atomic(Self.number(level))
    }

    /// The level; nil if nothing is logged.
    public var level: Logger.Level? {
        get {
            let value = value.load(ordering: .relaxed)
            return Self.levels.indices.contains(value) ? Self.levels[value] : nil
        }
        set { value.store(Self.number(newValue), ordering: .relaxed) }
    }

    private static func number(_ level: Logger.Level?) -> Int {
        level.flatMap { levels.firstIndex(of: $0) } ?? off
    }

    /// What a logger asks before it makes a line: where nothing is logged, the level that is least often tried.
    var loggerLevel: Logger.Level { level ?? .critical }
}
