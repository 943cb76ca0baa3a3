public import Logging

/// The lowest severity that is logged: the five names of the mobile SDKs and swift-log's.
public enum LogLevel: String, Sendable, CaseIterable {
    /// The names of the mobile SDKs.
    case off, fatal, error, warn, info, verbose
    /// The other names of swift-log.
    case trace, debug, notice, warning, critical

    /// The level of a logger; nil if nothing is logged.
    public var loggerLevel: Logger.Level? {
        switch self {
        case .off: nil
        case .fatal: .critical
        case .warn: .warning
        case .verbose: .debug
        default: Logger.Level(rawValue: rawValue)
        }
    }
}
