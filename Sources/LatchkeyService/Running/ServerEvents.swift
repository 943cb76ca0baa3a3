package import LatchkeyConfiguration
import Primitives
import SignIn
import StorageModel

/// The audit events of the server itself, which tell which version ran with which configuration, and when.
extension AuditSealer {
    /// The server listens.
    func noteStart(_ configuration: Configuration) {
        note(
            .serverStarted,
            details: AuditDetails { json in
                json.add("version", LatchkeyVersion.text)
                json.add("configuration", configuration.fingerprint)
            })
    }

    /// SIGHUP changed the configuration.
    /// - Parameters:
    ///   - applied: The keys in effect from now on.
    ///   - pending: Those in effect from the next start.
    func noteReload(_ configuration: Configuration, applied: [String], pending: [String]) {
        note(
            .configurationReloaded,
            details: AuditDetails { json in
                json.add("configuration", configuration.fingerprint)
                json.add("applied", applied)
                json.add("pending", pending)
            })
    }

    /// The server stops as it was told to. A start without this event before it tells of another end.
    func noteStop() { note(.serverStopped) }
}

extension AuditEvent.Kind {
    static let serverStarted = AuditEvent.Kind("server.started")
    static let serverStopped = AuditEvent.Kind("server.stopped")
    static let configurationReloaded = AuditEvent.Kind("configuration.reloaded")
}

extension Configuration {
    /// The SHA-256 of all values, with secrets redacted: configurations that differ in more than secrets differ here.
    package var fingerprint: String {
        let values = ConfigurationReference.values(of: self).map { "\($0.key)=\($0.value)\n" }.joined()
        return AuditDigest(sha256Of: values.utf8).description
    }
}
