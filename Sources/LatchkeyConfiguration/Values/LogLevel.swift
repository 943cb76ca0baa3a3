public import Logging

/// From which severity on is logged: the mobile SDKs' five names and those of swift-log.
public enum LogLevel: String, Sendable, CaseIterable {
    case off, error, warn, info, verbose
    case trace, debug, notice, warning, critical

    /// The level to give to a logger, or nil if nothing is to be logged.
    public var loggerLevel: Logger.Level? {
        switch self {
        case .off: nil
        case .critical: .critical
        case .error: .error
        case .warn, .warning: .warning
        case .notice: .notice
        case .info: .info
        case .verbose, .debug: .debug
        case .trace: .trace
        }
    }
}
