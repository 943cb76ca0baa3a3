import HTTPServer
import HTTPTypes
import Logging
import Primitives
import SignIn
import Synchronization

/// Logs each request: at `debug`, and server errors at `info`, of those without an API key ten a minute of each status.
struct AccessLog: Sendable {
    let logger: Logger
    let refusals: LogSamplers

    /// - Parameter error: The cause of a failure of this server is in the line.
    func write(_ request: Request, status: Int, took nanoseconds: UInt64, after error: (any Error)? = nil) {
        let level: Logger.Level = status >= 500 ? .info : .debug
        guard logger.logLevel <= level else { return }
        func line() -> Logger.Metadata {
            var metadata: Logger.Metadata = [
                "method": "\(request.method.rawValue)", "path": "\(Self.withoutHandle(Self.printable(request.path)))",
                "status": .stringConvertible(status), "request_id": "\(request.id)",
                "peer": "\(request.peer)",
                "ms": .stringConvertible(Stopwatch.milliseconds(nanoseconds)),
            ]
            if let failure = ((error as? NoticedError)?.error ?? error) as? SignInError, failure.fault == .ours {
                metadata["cause"] = failure.cause.map { "\($0)" }
            }
            return metadata
        }
        // Without an API key anyone can send any number.
        if request.headers.count(of: .apiKey) == 0 {
            refusals.log(level, "request", of: "request \(status)", to: logger, line)
        } else {
            logger.log(level: level, "request", metadata: line())
        }
    }

    /// Logs a request of a sign-in that was refused before it reached the use case, which logs all others.
    func write(_ error: APIError) {
        guard let correlationID = error.correlationID, error.offer == nil else { return }
        refusals.log(.info, "request refused", of: "request refused \(error.code)", to: logger) {
            [
                "correlation_id": "\(correlationID)", "outcome": "\(error.code)",
                "error_type": "\(error.errorType.rawValue)", "cause": "\(error.description)",
            ]
        }
    }

    /// The path, without the handle of a backchannel authentication, which can be exchanged for a session. A path that
    /// is mistyped has none, either: the request is refused, and the handle stays valid.
    private static func withoutHandle(_ path: String) -> String {
        let segments = path.split(ascii: "/", omittingEmptySubsequences: false)
        let last = segments.firstIndex { ["zenkey-async-signin", "backchannel"].contains($0.lowercased()) }
        guard let last, segments[(last + 1)...].contains(where: { !$0.isEmpty && $0 != "notification" }) else {
            return path
        }
        return segments[...last].joined(separator: "/") + "/-"
    }

    /// At most 200 bytes, with a question mark for bytes that could break or forge a line. (The path has no query.)
    private static func printable(_ path: String) -> String {
        String(
            decoding: path.utf8.prefix(200).map { $0.isVisibleASCII ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}

/// Makes a short id for each request: six characters of this process, a hyphen, and a count in base 36.
///
/// Up to fifteen bytes, which a `String` holds without an allocation.
final class RequestIDs: Sendable {
    private let process: String
    private let count = Atomic<UInt64>(0)

    init(random: RandomSource) {
        let alphabet = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
        process = String(decoding: random.bytes(6).map { alphabet[Int($0) % alphabet.count] }, as: UTF8.self) + "-"
    }

    func next() -> String { process + String(count.wrappingAdd(1, ordering: .relaxed).newValue, radix: 36) }
}
