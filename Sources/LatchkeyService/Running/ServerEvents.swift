package import LatchkeyConfiguration
package import Logging
package import Primitives
package import StorageModel
import Synchronization

/// The audit events of the server itself, which tell which version ran with which configuration, and when. They belong
/// to no change in the store, and nothing waits until they are stored.
package final class ServerEvents: Sendable {
    private static let pause = Duration.seconds(10)

    private let store: any AuditStore
    private let clock: WallClock
    private let logger: Logger
    /// Those that are not stored yet.
    private let noted = Mutex<[AuditEvent]>([])

    package init(store: any AuditStore, clock: WallClock, logger: Logger) {
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    func noteStart(_ configuration: Configuration) {
        let details = AuditDetails { json in
            json.add("version", LatchkeyVersion.text)
            json.add("configuration", configuration.fingerprint)
        }
        note(.serverStarted, details: details)
    }

    /// SIGHUP changed the configuration.
    /// - Parameters:
    ///   - applied: The keys in effect from now on.
    ///   - pending: Those in effect from the next start.
    func noteReload(_ configuration: Configuration, applied: [String], pending: [String]) {
        let details = AuditDetails { json in
            json.add("configuration", configuration.fingerprint)
            json.add("applied", applied)
            json.add("pending", pending)
        }
        note(.configurationReloaded, details: details)
    }

    /// The server stops as it was told to. A start without this event before it tells of another end.
    func noteStop() { note(.serverStopped) }

    package func note(_ kind: AuditEvent.Kind, details: AuditDetails = AuditDetails()) {
        let event = AuditEvent(at: clock.now(), kind, user: nil, by: .latchkey, details: details)
        noted.withLock { $0.append(event) }
    }

    /// Stores the events until the task is cancelled.
    func run() async {
        repeat { await storeNoted() } while (try? await Task.sleep(for: Self.pause)) != nil
    }

    /// Stores the events so far, in their order. What cannot be stored now is stored later. Not called twice at once.
    package func storeNoted() async {
        var events = noted.withLock { exchange(&$0, with: []) }
        do throws(StorageError) {
            while let event = events.first {
                try await store.addAuditEvent(event)
                events.removeFirst()
            }
        } catch {
            noted.withLock { $0 = events + $0 }
            logger.warning("could not store the server's audit events", metadata: ["error": "\(error.code)"])
        }
    }
}

extension AuditEvent.Kind {
    static let serverStarted = AuditEvent.Kind("server.started")
    static let serverStopped = AuditEvent.Kind("server.stopped")
    static let configurationReloaded = AuditEvent.Kind("configuration.reloaded")
}

extension Configuration {
    /// The SHA-256 of all values, with secrets redacted: configurations that differ in more than secrets differ here.
    /// The order of the features does not matter.
    package var fingerprint: String {
        let values = ConfigurationReference.values(of: self).map { "\($0.key)=\($0.value)\n" }.sorted().joined()
        return TokenHash(sha256Of: values).bytes.hexadecimal
    }
}
