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
        case migrate
        case store
    }

    private let request: SignInRequest
    private let correlationID: CorrelationID
    private let logger: Logger
    /// What the line is about.
    private let event: String
    private let clock = ContinuousClock()
    private var providerIsKnown = false
    private var wasSentBefore = false
    private var hasMoved = false
    private var steps: [(step: Step, duration: Duration)] = []
    private var current: (step: Step, began: ContinuousClock.Instant)?

    init(_ request: SignInRequest, correlationID: CorrelationID, logger: Logger, event: String = "sign-in") {
        self.event = event
        self.request = request
        self.correlationID = correlationID
        self.logger = logger
    }

    /// The provider's name stands in the log once it is known to be one: the request could name anything.
    mutating func foundProvider() { providerIsKnown = true }

    /// The same sign-in was sent before.
    mutating func foundEarlierOne() { wasSentBefore = true }

    /// The sign-in has moved an account from another carrier.
    mutating func movedAccount() { hasMoved = true }

    /// Tells at once of a port token that moves no account, and why.
    func write(_ ignored: IgnoredPortToken) { logger.write(ignored, metadata) }

    /// Begins to time a step, and ends the one before.
    mutating func begin(_ step: Step) {
        let now = clock.now
        endStep(at: now)
        current = (step, now)
    }

    private mutating func endStep(at now: ContinuousClock.Instant) {
        guard let current else { return }
        steps.append((current.step, now - current.began))
        self.current = nil
    }

    mutating func write(_ outcome: SignInOutcome) {
        switch outcome {
        case .signedIn(let signedIn): write(outcome: signedIn.isNew ? "signed_up" : "signed_in")
        case .mustRegister: write(outcome: "must_register")
        }
    }

    mutating func write(outcome: String) {
        guard logger.logLevel <= .info else { return }
        endStep(at: clock.now)
        var metadata = metadata
        metadata["outcome"] = "\(outcome)"
        logger.info("\(event)", metadata: metadata)
    }

    mutating func write(_ error: SignInError) {
        guard logger.logLevel <= error.fault.logLevel else { return }
        endStep(at: clock.now)
        var metadata = metadata
        metadata["outcome"] = "\(error.code.text)"
        metadata["error_type"] = "\(error.errorType.rawValue)"
        if let check = error.check { metadata["check"] = "\(check.rawValue)" }
        logger.log(level: error.fault.logLevel, "\(event) refused", metadata: metadata)
    }

    private var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "correlation_id": "\(correlationID)", "client_id": "\(request.clientID)",
        ]
        if let network = request.network { metadata["mccmnc"] = "\(network)" }
        if providerIsKnown { metadata["provider"] = "\(request.provider)" }
        if wasSentBefore { metadata["sent_before"] = "true" }
        if hasMoved { metadata["moved"] = "true" }
        for (step, duration) in steps {
            // Milliseconds with two decimals.
            metadata["\(step.rawValue)_ms"] = "\((duration / .milliseconds(0.01)).rounded() / 100)"
        }
        return metadata
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
