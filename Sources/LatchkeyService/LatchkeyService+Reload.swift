public import LatchkeyConfiguration
import Logging
import Observability

extension LatchkeyService {
    /// Takes over what may change while a service runs, which is `log.level` and what is in the files of `tls`; tells
    /// which other keys have changed, which wait for the next start. Values of secrets are compared by nobody and told to nobody.
    public func reload(_ loaded: LoadedConfiguration) {
        for warning in loaded.warnings { logger.warning("\(warning)") }
        certificates?.renew()
        let new = loaded.configuration
        let level = new.log.level.loggerLevel
        let waiting = changedKeys(new)
        let former = logThreshold.level
        logThreshold.level = level
        // Said also where less is logged from now on, and only once that is so.
        if let either = [former, level].compactMap({ $0 }).min() {
            var teller = logger
            teller.logLevel = either
            teller.notice("reloaded", metadata: ["log_level": "\(new.log.level.rawValue)"])
        }
        guard !waiting.isEmpty else { return }
        logger.warning(
            "changed, and in force from the next start on", metadata: ["keys": "\(waiting.joined(separator: " "))"])
    }

    /// Tells that a changed configuration is bad, and stays with what there is.
    public func refuseReload(_ errors: ConfigurationErrors) {
        for problem in errors.problems { logger.error("not reloaded: \(problem)") }
    }

    private func changedKeys(_ new: Configuration) -> [String] {
        zip(ConfigurationReference.values(of: configuration), ConfigurationReference.values(of: new))
            .filter { $0.0.value != $0.1.value && $0.0.key != "log.level" }.map(\.0.key)
    }
}
