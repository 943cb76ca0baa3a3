import LatchkeyAPI
public import LatchkeyConfiguration
import Logging
import Observability
import Synchronization

extension LatchkeyService {
    /// Takes over what may change while a service runs, as ``ConfigurationKey/reload`` says; tells which other keys have
    /// changed, which wait for the next start. Values of secrets are compared by nobody and told to nobody.
    public func reload(_ loaded: LoadedConfiguration) {
        for warning in loaded.warnings { logger.warning("\(warning)") }
        certificates?.renew()
        let new = loaded.configuration
        let level = new.log.level.loggerLevel
        api.replaceLimits(new.requestLimits)
        let before = reloaded.withLock { before in
            defer { before = new }
            return before
        }
        let waiting = Self.changedKeys(from: configuration, to: new) { $0 != .value }
        let taken = Self.changedKeys(from: before, to: new) { $0 == .value }
        var metadata: Logger.Metadata = ["log_level": "\(new.log.level.rawValue)"]
        if !taken.isEmpty { metadata["taken_over"] = "\(taken.joined(separator: " "))" }
        let former = logThreshold.level
        logThreshold.level = level
        // Said also where less is logged from now on, and only once that is so.
        if let either = [former, level].compactMap({ $0 }).min() {
            var teller = logger
            teller.logLevel = either
            teller.notice("reloaded", metadata: metadata)
        }
        guard !waiting.isEmpty else { return }
        logger.warning(
            "changed, and in force from the next start on", metadata: ["keys": "\(waiting.joined(separator: " "))"])
    }

    /// Tells that a changed configuration is bad, and stays with what there is.
    public func refuseReload(_ errors: ConfigurationErrors) {
        for problem in errors.problems { logger.error("not reloaded: \(problem)") }
    }

    private static func changedKeys(
        from old: Configuration, to new: Configuration, where isMeant: (ConfigurationKey.Reload) -> Bool
    ) -> [String] {
        let meant = Set(ConfigurationReference.keys.filter { isMeant($0.reload) }.map(\.name))
        return zip(ConfigurationReference.values(of: old), ConfigurationReference.values(of: new))
            .filter { $0.0.value != $0.1.value && meant.contains($0.0.key) }.map(\.0.key)
    }
}
