import Logging
import OpenIDConnect

/// Gathers what one sign-in's line in the log tells: whose network, how it ended, how long each step took.
///
/// No subject, code, token, verifier, nonce or attribute ever comes here.
struct SignInLog {
    enum Step: String {
        case discovery
        case attempt
        case token
        case validate
        case userinfo
        case store
    }

    private let logger: Logger
    private let clock = ContinuousClock()
    private var metadata: Logger.Metadata
    private var current: (step: Step, began: ContinuousClock.Instant)?

    init(_ request: SignInRequest, correlationID: CorrelationID, logger: Logger) {
        self.logger = logger
        metadata = [
            "correlation_id": "\(correlationID)", "client_id": "\(request.clientID)", "mccmnc": "\(request.network)",
        ]
    }

    /// The provider, once it is known to be one: the request could name anything.
    mutating func found(provider: String) { metadata["provider"] = "\(provider)" }

    /// Says that the same sign-in was sent before.
    mutating func wasSentBefore() { metadata["sent_before"] = "true" }

    /// Begins to time a step, and ends the one before.
    mutating func begin(_ step: Step) {
        let now = clock.now
        endStep(at: now)
        current = (step, now)
    }

    private mutating func endStep(at now: ContinuousClock.Instant) {
        guard let current else { return }
        metadata["\(current.step.rawValue)_ms"] = "\(Self.milliseconds(now - current.began))"
        self.current = nil
    }

    mutating func write(_ outcome: SignInOutcome) {
        endStep(at: clock.now)
        switch outcome {
        case .signedIn(let signedIn): metadata["outcome"] = signedIn.isNew ? "signed_up" : "signed_in"
        case .mustRegister: metadata["outcome"] = "must_register"
        }
        logger.info("sign-in", metadata: metadata)
    }

    mutating func write(_ error: SignInError) {
        endStep(at: clock.now)
        metadata["outcome"] = "\(error.code.text)"
        metadata["error_type"] = "\(error.errorType.rawValue)"
        if let check = error.check { metadata["check"] = "\(check.rawValue)" }
        logger.log(level: error.fault.logLevel, "sign-in refused", metadata: metadata)
    }

    /// With two decimals.
    private static func milliseconds(_ duration: Duration) -> Double {
        (duration / .milliseconds(0.01)).rounded() / 100
    }
}

extension SignInError.Fault {
    var logLevel: Logger.Level {
        switch self {
        case .client: .info
        case .carrier: .warning
        case .ours: .error
        }
    }
}
