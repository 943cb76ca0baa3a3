import Logging
import OpenIDConnect
import Primitives
import Storage

/// Gathers what the line about one step of a server-initiated sign-in tells: of whose app and network, and how it ended;
/// never of which user.
struct AsyncSignInLog {
    private let logger: Logger
    private var metadata: Logger.Metadata

    init(_ step: String, _ terms: AsyncSignInRecord.Terms, _ logger: Logger) {
        self.logger = logger
        metadata = [
            "step": "\(step)", "correlation_id": "\(terms.correlationID)", "client_id": "\(terms.clientID)",
            "mccmnc": "\(terms.network)",
        ]
    }

    /// The sign-in has moved an account from another carrier.
    mutating func movedAccount() { metadata["moved"] = "true" }

    /// Tells at once of a port token that moves no account, and why.
    func write(_ ignored: IgnoredPortToken) { logger.write(ignored, metadata) }

    consuming func writeSuccess() {
        metadata["outcome"] = "ok"
        logger.info("server-initiated sign-in", metadata: metadata)
    }

    consuming func write(_ error: SignInError) {
        metadata["outcome"] = "\(error.code.text)"
        metadata["error_type"] = "\(error.errorType.rawValue)"
        if let check = error.check { metadata["check"] = "\(check.rawValue)" }
        logger.log(level: error.fault.logLevel, "server-initiated sign-in refused", metadata: metadata)
    }
}
