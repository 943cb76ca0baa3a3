import Logging
import OpenIDConnect
import Primitives

/// Gathers what one sign-in's line in the log tells: whose network, how it ended, how long each step took.
///
/// No subject, code, token, verifier, nonce or attribute ever comes here.
struct SignInLog {
    typealias Step = SignInReport.Step

    private let request: SignInRequest
    private let correlationID: CorrelationID
    private let logger: Logger
    private let kind: SignInReport.Kind
    private let observer: SignInObserver
    private let stopwatch = Stopwatch()
    private var providerIsKnown = false
    private var carrierIsKnown = false
    private var wasSentBefore = false
    private var hasMoved = false
    private var steps: [(step: Step, nanoseconds: UInt64)] = []
    private var current: (step: Step, began: UInt64)?

    init(
        _ request: SignInRequest, correlationID: CorrelationID, logger: Logger, _ kind: SignInReport.Kind = .signIn,
        observer: @escaping SignInObserver
    ) {
        self.kind = kind
        self.request = request
        self.correlationID = correlationID
        self.logger = logger
        self.observer = observer
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
        // Whatever comes after discovery comes of a network that it knows.
        if step != .discovery { carrierIsKnown = true }
        let now = stopwatch.nanoseconds
        endStep(at: now)
        current = (step, now)
    }

    private mutating func endStep(at now: UInt64) {
        guard let current else { return }
        steps.append((current.step, now - current.began))
        self.current = nil
    }

    mutating func write(_ outcome: SignInOutcome) { write(SignInReport.Outcome(outcome)) }

    mutating func write(_ outcome: SignInReport.Outcome) {
        report(outcome, nil)
        guard logger.logLevel <= .info else { return }
        var metadata = metadata
        metadata["outcome"] = "\(outcome.rawValue)"
        logger.info("\(kind.event)", metadata: metadata)
    }

    mutating func write(_ error: SignInError) {
        report(SignInReport.Outcome(error.code), error)
        guard logger.logLevel <= error.fault.logLevel else { return }
        var metadata = metadata
        metadata["outcome"] = "\(error.code.text)"
        metadata["error_type"] = "\(error.errorType.rawValue)"
        if let check = error.check { metadata["check"] = "\(check.rawValue)" }
        logger.log(level: error.fault.logLevel, "\(kind.event) refused", metadata: metadata)
    }

    private mutating func report(_ outcome: SignInReport.Outcome, _ error: SignInError?) {
        let now = stopwatch.nanoseconds
        endStep(at: now)
        observer(
            SignInReport(
                kind: kind, provider: providerIsKnown ? request.provider : nil,
                network: carrierIsKnown ? request.network : nil, outcome: outcome, check: error?.check,
                fault: error?.fault, steps: steps, nanoseconds: now))
    }

    private var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "correlation_id": "\(correlationID)", "client_id": "\(request.clientID)",
        ]
        if let network = request.network { metadata["mccmnc"] = "\(network)" }
        if providerIsKnown { metadata["provider"] = "\(request.provider)" }
        if wasSentBefore { metadata["sent_before"] = "true" }
        if hasMoved { metadata["moved"] = "true" }
        for (step, nanoseconds) in steps {
            metadata["\(step.rawValue)_ms"] = "\(Stopwatch.milliseconds(nanoseconds))"
        }
        return metadata
    }
}

extension SignInReport.Kind {
    /// What the line is about.
    var event: String {
        switch self {
        case .signIn: "sign-in"
        case .link: "link"
        case .transaction: "transaction"
        case .serverInitiated: "server-initiated sign-in"
        }
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
