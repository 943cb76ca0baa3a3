import HTTPServer
import HTTPTypes
import Logging
import Primitives
import SignIn

/// Logs each request: at `debug`, and server errors at `info`.
struct AccessLog: Sendable {
    let logger: Logger

    func write(_ request: Request, _ response: Response, requestID: String, took nanoseconds: UInt64) {
        let level: Logger.Level = response.status.code >= 500 ? .info : .debug
        guard logger.logLevel <= level else { return }
        logger.log(
            level: level, "request",
            metadata: [
                "method": "\(request.method.rawValue)", "path": "\(Self.printable(Self.withoutHandle(request.path)))",
                "status": "\(response.status.code)", "request_id": "\(requestID)", "peer": "\(request.peer)",
                "ms": "\(Stopwatch.milliseconds(nanoseconds))",
            ])
    }

    /// Logs a request of a sign-in that was refused before it reached the use case, which logs all others.
    func write(_ error: APIError) {
        guard let correlationID = error.correlationID, error.offer == nil, logger.logLevel <= .info else { return }
        logger.info(
            "request refused",
            metadata: [
                "correlation_id": "\(correlationID)", "outcome": "\(error.code)",
                "error_type": "\(error.errorType.rawValue)", "cause": "\(error.description)",
            ])
    }

    /// The path, without the handle of a backchannel authentication, which can be exchanged for a session.
    private static func withoutHandle(_ path: String) -> String {
        let prefix = "/auth/zenkey-async-signin/"
        return path.hasPrefix(prefix) && path != BackchannelAuthentication.notificationPath ? prefix + "-" : path
    }

    /// At most 200 bytes, with a question mark for bytes that could break or forge a line. (The path has no query.)
    private static func printable(_ path: String) -> String {
        String(
            decoding: path.utf8.prefix(200).map { (0x21...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
    }
}
