import LatchkeyAPI
public import LatchkeyConfiguration
import Logging
import Observability
import OpenIDConnect
import Primitives
import SignIn
import Synchronization

extension LatchkeyService {
    /// Applies the settings that can change while a service runs (``ConfigurationKey/reload``), and logs the other
    /// changed keys, which take effect at the next start. Secrets are neither compared nor logged.
    public func reload(_ loaded: LoadedConfiguration) {
        for warning in loaded.warnings { logger.warning("\(warning)") }
        certificates?.renew()
        renewClientCertificates(loaded.configuration)
        let new = loaded.configuration
        let level = new.log.level.loggerLevel
        api.replaceLimits(new.effectiveLimits)
        api.publish(publishedKeys(after: new))
        let before = reloaded.withLock { exchange(&$0, with: new) }
        let pending = Self.changedKeys(from: configuration, to: new) { $0 != .value }
        let applied = Self.changedKeys(from: before, to: new) { $0 == .value }
        var metadata: Logger.Metadata = ["log_level": "\(new.log.level.rawValue)"]
        serverEvents.noteReload(new, applied: applied, pending: pending)
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

    /// Presents the new certificates of clients from now on (RFC 8705). The start's stay where there is no new
    /// one, or an expired one.
    private func renewClientCertificates(_ new: Configuration) {
        for (name, client, renewed) in configuration.clientCertificates(in: new) {
            let certificate = renewed.certificate
            guard let present = client.clientTLS, present.certificate.identifier != certificate.identifier else {
                continue
            }
            let end = UTCTime.text(certificate.validity.upperBound)
            let metadata: Logger.Metadata = [
                "provider": "\(name)", "client_id": "\(client.id)", "valid_until": "\(end)",
            ]
            guard certificate.validity.upperBound > clock.now() else {
                logger.error(
                    "the new client certificate has expired, and the current one stays in use", metadata: metadata)
                continue
            }
            present.replace(with: certificate)
            logger.notice("presenting the new client certificate", metadata: metadata)
        }
    }

    /// The published keys of a new configuration, and the start's, which still sign until the next start.
    private func publishedKeys(after new: Configuration) -> [ClientKey] {
        let keys = new.publishedKeys
        let signing = configuration.keyHolders.filter { !$0.publishedKeys.isEmpty }.compactMap(\.signingKey)
        return keys + Set(signing).subtracting(keys).sorted { $0.keyID < $1.keyID }
    }

    /// Logs the problems of an invalid configuration; the current one stays in effect.
    public func refuseReload(_ errors: ConfigurationErrors) {
        for problem in errors.problems { logger.error("not reloaded: \(problem)") }
    }

    private static func changedKeys(
        from old: Configuration, to new: Configuration, where matches: (ConfigurationKey.Reload) -> Bool
    ) -> [String] {
        let keys = Set(ConfigurationReference.keys(of: new.settings).filter { matches($0.reload) }.map(\.name))
        return zip(ConfigurationReference.values(of: old), ConfigurationReference.values(of: new))
            .filter { $0.0.value != $0.1.value && keys.contains($0.0.key) }.map(\.0.key)
    }
}

extension Configuration {
    /// The clients that have a certificate in both configurations, each with its certificate in the new one.
    fileprivate func clientCertificates(
        in new: Configuration
    ) -> [(provider: String, client: Client, renewed: ClientTLS)] {
        let others = Dictionary(new.allProviders.map { ($0.id, $0.clients) }, uniquingKeysWith: { first, _ in first })
        return allProviders.flatMap { provider in
            provider.clients.compactMap { client in
                guard client.clientTLS != nil,
                    let renewed = others[provider.id]?.first(where: { $0.id == client.id })?.clientTLS
                else { return nil }
                return (provider.id, client, renewed)
            }
        }
    }
}
