import Logging
import OpenIDConnect
import Primitives

/// Collects one sign-in's log line: network, outcome, and the time of each step.
///
/// No subject, code, token, verifier, nonce or attribute is ever in it.
struct SignInLog {
    /// Room for the members of most log lines at once.
    private static let usualMembers = 16

    private let provider: String
    private let clientID: ClientID
    private let network: MCCMNC?
    let correlationID: CorrelationID
    private let logger: Logger
    /// For a sign-in that anyone can begin; nil for others, whose refusals all have lines.
    private let refusals: LogSamplers?
    let kind: SignInReport.Kind
    private let observer: SignInObserver
    /// Whether the provider is a configured one.
    var providerIsKnown = false
    /// Whether discovery knows the network before the steps tell.
    private var carrierIsKnown = false
    /// The same sign-in was sent before.
    var wasSentBefore = false
    /// The sign-in has moved an account from another carrier.
    var hasMoved = false
    /// What Telco Finder said of the operator of the number, if it was asked.
    var operatorFinding: OperatorFinding?
    /// What the mobile operator said of the SIM, if it was asked.
    var simSwap: SIMSwapFinding?
    var times = StepTimes()

    init(
        _ request: SignInRequest, correlationID: CorrelationID, logger: Logger, _ kind: SignInReport.Kind,
        refusals: LogSamplers? = nil, observer: @escaping SignInObserver
    ) {
        self.refusals = refusals
        self.kind = kind
        provider = request.provider.text
        clientID = request.clientID
        network = request.network
        self.correlationID = correlationID
        self.logger = logger
        self.observer = observer
    }

    /// For a redirect sign-in, which began with a known provider, and whose network discovery knows.
    init(
        _ pending: PendingRedirect, _ times: StepTimes, logger: Logger, refusals: LogSamplers,
        observer: @escaping SignInObserver
    ) {
        kind = pending.start.linkingSession == nil ? .signIn : .link
        // Only a session begins a link.
        self.refusals = kind == .signIn ? refusals : nil
        provider = pending.start.provider.text
        clientID = pending.clientID
        if case .authorization(let network, _, _) = pending.leg { self.network = network } else { network = nil }
        correlationID = pending.correlationID
        providerIsKnown = true
        carrierIsKnown = true
        self.times = times
        self.logger = logger
        self.observer = observer
    }

    /// Logs a port token that moves no account, at once.
    func write(_ ignored: IgnoredPortToken) { logger.write(ignored, metadata) }

    mutating func write(_ outcome: SignInReport.Outcome) {
        let nanoseconds = report(outcome, nil)
        guard logger.logLevel <= .info else { return }
        var metadata = metadata
        times.write(to: &metadata, all: nanoseconds)
        metadata["outcome"] = "\(outcome.name)"
        logger.info("\(kind.event)", metadata: metadata)
    }

    mutating func write(_ error: SignInError) {
        let nanoseconds = report(SignInReport.Outcome(error), error)
        let level = error.fault.logLevel
        guard logger.logLevel <= level else { return }
        func line() -> Logger.Metadata {
            var metadata = metadata
            times.write(to: &metadata, all: nanoseconds)
            error.write(to: &metadata, failedAt: times.last)
            return metadata
        }
        let message: Logger.Message = "\(kind.event) refused"
        guard let refusals else { return logger.log(level: level, message, metadata: line()) }
        let place = "\(providerIsKnown ? provider : "") \(error.code.rawValue) \(times.last?.rawValue ?? "")"
        refusals.log(level, message, of: "\(message) \(place)", to: logger, line)
    }

    /// - Returns: The duration of the whole sign-in, in nanoseconds.
    private mutating func report(_ outcome: SignInReport.Outcome, _ error: SignInError?) -> UInt64 {
        let nanoseconds = times.end()
        observer(
            SignInReport(
                kind: kind, correlationID: correlationID, provider: providerIsKnown ? provider : nil,
                // After discovery, the network is a known one.
                network: carrierIsKnown || ![nil, .recall, .discovery].contains(times.last) ? network : nil,
                outcome: outcome, check: error?.check,
                failedStep: error == nil ? nil : times.last, fault: error?.fault,
                cause: error.map { $0.cause ?? $0.description }, steps: times.steps, nanoseconds: nanoseconds))
        return nanoseconds
    }

    private var metadata: Logger.Metadata {
        var metadata = Logger.Metadata(minimumCapacity: Self.usualMembers)
        metadata["correlation_id"] = "\(correlationID)"
        metadata["client_id"] = "\(clientID)"
        if let network { metadata["mccmnc"] = "\(network)" }
        if providerIsKnown { metadata["provider"] = "\(provider)" }
        if wasSentBefore { metadata["sent_before"] = "true" }
        if hasMoved { metadata["moved"] = "true" }
        if let operatorFinding { metadata["telco_finder"] = "\(operatorFinding.rawValue)" }
        if let simSwap { metadata["sim_swap"] = "\(simSwap.rawValue)" }
        return metadata
    }
}

extension SignInReport.Kind {
    /// The message of the log line.
    var event: String {
        switch self {
        case .signIn: "sign-in"
        case .link: "link"
        case .transaction: "transaction"
        case .backchannelAuthentication: "backchannel authentication"
        }
    }
}

extension SignInError {
    /// Adds what a log line of a refusal says about its cause. Of a provider there are only the host, the status and a
    /// code of at most 64 letters, digits, `_`, `.` and `-`, with a letter.
    func write(to metadata: inout Logger.Metadata, failedAt step: SignInReport.Step?) {
        metadata["outcome"] = "\(codeText)"
        metadata["error_type"] = "\(errorType.rawValue)"
        if let step { metadata["failed_step"] = "\(step.rawValue)" }
        if let check { metadata["check"] = "\(check.rawValue)" }
        metadata["cause"] = "\(cause ?? description)"
        if let carrierError { metadata["carrier_error"] = "\(carrierError)" }
        guard let request else { return }
        metadata["host"] = "\(request.host)"
        if let status = request.status { metadata["status"] = .stringConvertible(status) }
        if let transportError = request.transportError { metadata["transport"] = "\(transportError)" }
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
