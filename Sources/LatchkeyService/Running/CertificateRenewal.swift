import Glibc
import HTTPServer
import LatchkeyConfiguration
import Logging
import Primitives
import Synchronization

/// Takes over new certificates while the server runs: when it is told to, and when their files have changed.
///
/// A pair that cannot be used, or has expired, is refused with a word in the log, and what there is serves on.
final class CertificateRenewal: Sendable {
    private static let pause = Duration.seconds(5)

    /// What changes when a file does; nil for one that is not there.
    private struct Stamp: Hashable {
        let device: UInt64
        let number: UInt64
        let size: Int
        let seconds: Int
        let nanoseconds: Int
    }

    private struct State {
        /// As the files were when they were last read.
        var read: [Stamp?] = []
        /// As they were when they were last looked at.
        var seen: [Stamp?] = []
    }

    let tls: ServerTLS
    private let settings: Configuration.TLS
    private let clock: WallClock
    private let logger: Logger
    private let state = Mutex(State())

    /// Nil where there is no HTTPS.
    /// - Throws: ``LatchkeyStartError`` if the certificate cannot be used.
    init?(_ settings: Configuration.TLS, clock: WallClock, logger: Logger) throws {
        guard settings.isOn else { return nil }
        self.settings = settings
        self.clock = clock
        self.logger = logger
        let stamps = Self.stamps(settings)
        do throws(TLSFileProblem) {
            tls = try ServerTLS(settings, .system)
        } catch {
            throw LatchkeyStartError(.configuration, "\(error)")
        }
        state.withLock { $0 = State(read: stamps, seen: stamps) }
    }

    /// Looks at the files every few seconds until the task is cancelled.
    func run() async {
        while !Task.isCancelled {
            do {
                try await Task.sleep(for: CertificateRenewal.pause)
            } catch {
                return
            }
            look()
        }
    }

    /// Takes over files that have changed, once they have stayed as they are from one look to the next: certificate and
    /// key are two files, and seldom written in the same instant.
    func look() {
        let now = Self.stamps(settings)
        let isDue = state.withLock { state in
            defer { state.seen = now }
            return now == state.seen && now != state.read
        }
        if isDue { renew() }
    }

    /// Reads the files, and serves with what they hold from now on.
    func renew() {
        let stamps = Self.stamps(settings)
        // Files that cannot be used are not read again until they have changed once more.
        state.withLock { $0 = State(read: stamps, seen: stamps) }
        do throws(TLSFileProblem) {
            try replace(with: try ServerTLS(settings, .system))
        } catch {
            logger.error("the new certificate is refused, and the one that there is serves on: \(error)")
        }
    }

    private func replace(with new: ServerTLS) throws(TLSFileProblem) {
        let end = UTCTime.text(new.validity.upperBound)
        guard new.validity.upperBound > clock.now() else {
            throw TLSFileProblem(
                key: "tls.certificate_file", reason: "the certificate has expired, on \(end)", remedy: "renew it")
        }
        tls.replace(with: new)
        logger.notice("serving with the certificate as it is now", metadata: ["holds_until": "\(end)"])
    }

    private static func stamps(_ settings: Configuration.TLS) -> [Stamp?] {
        settings.files.map { file in
            var status = stat()
            guard stat(file.path, &status) == 0 else { return nil }
            let modified = status.st_mtim
            return Stamp(
                device: UInt64(status.st_dev), number: UInt64(status.st_ino), size: Int(status.st_size),
                seconds: Int(modified.tv_sec), nanoseconds: Int(modified.tv_nsec))
        }
    }
}
