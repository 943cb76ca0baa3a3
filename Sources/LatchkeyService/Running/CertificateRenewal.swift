import Glibc
import HTTPServer
import LatchkeyConfiguration
import Logging
import Primitives
import Synchronization

/// Loads new certificates while the server runs: at a reload, and when their files have changed.
///
/// A certificate that is invalid or expired is refused and logged; the current one stays in use.
final class CertificateRenewal: Sendable {
    /// Changes when a file does: its device, number, size, and time of the last change.
    private typealias Stamp = [Int]

    let tls: ServerTLS
    private let settings: Configuration.TLS
    private let clock: WallClock
    private let logger: Logger
    /// The stamps of the last read, and of the last check; nil for a missing file.
    private let state: Mutex<(read: [Stamp?], seen: [Stamp?])>

    /// Nil without HTTPS.
    /// - Throws: ``LatchkeyStartError`` if the certificate cannot be used.
    init?(_ settings: Configuration.TLS, clock: WallClock, logger: Logger) throws {
        guard settings.isOn else { return nil }
        self.settings = settings
        self.clock = clock
        self.logger = logger
        let stamps = Self.stamps(settings)
        do throws(ConfigurationProblem) {
            tls = try ServerTLS(settings, .system)
        } catch {
            throw LatchkeyStartError(.configuration, "\(error)")
        }
        state = Mutex((read: stamps, seen: stamps))
    }

    /// Checks the files every few seconds until the task is cancelled.
    func run() async {
        while (try? await Task.sleep(for: .seconds(5))) != nil { look() }
    }

    /// Loads changed files once they are the same in two consecutive checks: certificate and key are two files, which
    /// are seldom written at the same moment.
    func look() {
        let now = Self.stamps(settings)
        let isDue = state.withLock { state in
            defer { state.seen = now }
            return now == state.seen && now != state.read
        }
        if isDue { renew() }
    }

    func renew() {
        let stamps = Self.stamps(settings)
        // Invalid files are not read again until they change.
        state.withLock { $0 = (read: stamps, seen: stamps) }
        do throws(ConfigurationProblem) {
            try replace(with: try ServerTLS(settings, .system))
        } catch {
            logger.error("the new certificate is refused, and the current one stays in use: \(error)")
        }
    }

    private func replace(with new: ServerTLS) throws(ConfigurationProblem) {
        let end = UTCTime.text(new.validity.upperBound)
        guard new.validity.upperBound > clock.now() else {
            throw ConfigurationProblem(
                key: "tls.certificate_file", reason: "the certificate expired on \(end)", remedy: "renew it")
        }
        tls.replace(with: new)
        logger.notice("serving with the new certificate", metadata: ["valid_until": "\(end)"])
    }

    private static func stamps(_ settings: Configuration.TLS) -> [Stamp?] {
        settings.files.map { file in
            var status = stat()
            guard stat(file.path, &status) == 0 else { return nil }
            return [
                Int(truncatingIfNeeded: status.st_dev), Int(truncatingIfNeeded: status.st_ino), Int(status.st_size),
                Int(status.st_mtim.tv_sec), Int(status.st_mtim.tv_nsec),
            ]
        }
    }
}
