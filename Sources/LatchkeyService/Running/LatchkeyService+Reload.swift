import LatchkeyAPI
public import LatchkeyConfiguration
import Logging
import Observability
import OpenIDConnect
import SignIn
import Synchronization

extension LatchkeyService {
    /// Applies the settings that can change while a service runs (``ConfigurationKey/reload``), and logs the other
    /// changed keys, which take effect at the next start. Secrets are neither compared nor logged.
    public func reload(_ loaded: LoadedConfiguration) {
        for warning in loaded.warnings { logger.warning("\(warning)") }
        certificates?.renew()
        let new = loaded.configuration
        let level = new.log.level.loggerLevel
        api.replaceLimits(new.effectiveLimits)
        api.publish(publishedKeys(after: new))
        let before = reloaded.withLock { before in
            defer { before = new }
            return before
        }
        let pending = Self.changedKeys(from: configuration, to: new) { $0 != .value }
        let applied = Self.changedKeys(from: before, to: new) { $0 == .value }
        var metadata: Logger.Metadata = ["log_level": "\(new.log.level.rawValue)"]
        if !applied.isEmpty { metadata["taken_over"] = "\(applied.joined(separator: " "))" }
        let former = logThreshold.level
        logThreshold.level = level
        // Logged at the lower of both levels, so that a reload that raises the threshold is logged too.
        if let either = [former, level].compactMap({ $0 }).min() {
            var logger = logger
            logger.logLevel = either
            logger.notice("reloaded", metadata: metadata)
        }
        guard !pending.isEmpty else { return }
        logger.warning(
            "changed, but in effect only from the next start", metadata: ["keys": "\(pending.joined(separator: " "))"])
    }

    /// The published keys of a new configuration, and those of the start, which still sign until the next start.
    private func publishedKeys(after new: Configuration) -> [ClientKey] {
        let keys = new.publishedKeys
        let signing = configuration.allClients.filter { !$0.publishedKeys.isEmpty }.compactMap(\.signingKey)
        return keys + Set(signing).subtracting(keys).sorted { $0.keyID < $1.keyID }
    }

    /// Logs the problems of an invalid configuration; the current one stays in effect.
    public func refuseReload(_ errors: ConfigurationErrors) {
        for problem in errors.problems { logger.error("not reloaded: \(problem)") }
    }

    private static func changedKeys(
        from old: Configuration, to new: Configuration, where matches: (ConfigurationKey.Reload) -> Bool
    ) -> [String] {
        let keys = Set(ConfigurationReference.keys.filter { matches($0.reload) }.map(\.name))
        return zip(ConfigurationReference.values(of: old), ConfigurationReference.values(of: new))
            .filter { $0.0.value != $0.1.value && keys.contains($0.0.key) }.map(\.0.key)
    }
}
