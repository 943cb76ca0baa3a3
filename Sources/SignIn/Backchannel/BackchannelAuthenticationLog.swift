import Logging
import OpenIDConnect
import Primitives
import StorageModel

/// Collects the log line of one step of a backchannel authentication: client, network and outcome, never the user.
///
/// A class, which one task has: the step and what it waits for write to it.
final class BackchannelAuthenticationLog {
    /// What an app or a carrier asks for.
    enum Step: String {
        case start
        case end
        case retry
        case cancel
        case notification
        /// The provider is asked for the outcome, and has none.
        case poll

        /// Whether the sign-in has failed if this step fails.
        var failureEndsSignIn: Bool { self == .start || self == .end }
    }

    private let logger: Logger
    private var step: Step
    private let terms: BackchannelAuthenticationRecord.Terms
    private let observer: SignInObserver
    /// For a caller without an API key; nil for others, whose refusals all have lines.
    private let refusals: LogSamplers?
    /// Who can cause a failure.
    let origin: CapsuleSubject.Origin
    private(set) var times = StepTimes()
    private var metadata: Logger.Metadata
    private var isQuiet = false
    /// What the capsule of a failure says of the notification, if there is one.
    var notification: [CapsuleSubject.Member] = []
    /// The outcome of the whole sign-in, once it has ended.
    var outcome: SignInOutcome?

    init(
        _ step: Step, _ terms: BackchannelAuthenticationRecord.Terms, _ origin: CapsuleSubject.Origin,
        _ logger: Logger, refusals: LogSamplers?, observer: @escaping SignInObserver
    ) {
        self.refusals = refusals
        self.origin = origin
        self.logger = logger
        self.step = step
        self.terms = terms
        self.observer = observer
        metadata = [
            "step": "\(step.rawValue)", "correlation_id": "\(terms.correlationID)", "client_id": "\(terms.clientID)",
        ]
        if terms.network.isEmpty {
            metadata["provider"] = "\(terms.provider)"
        } else {
            metadata["mccmnc"] = "\(terms.network)"
        }
    }

    /// Starts the time of a step, and ends the step before.
    func begin(_ step: SignInReport.Step) { times.begin(step) }

    /// The sign-in has moved an account from another carrier.
    func movedAccount() { metadata["moved"] = "true" }

    /// Logs a port token that moves no account, at once.
    func write(_ ignored: IgnoredPortToken) { logger.write(ignored, metadata) }

    /// What the capsule of a failure says of it.
    var operation: String { step.rawValue }

    /// Whether a failure leaves a capsule. A request that is refused before its first step has none, nor has one over
    /// a limit. The outcome of a sign-in that failed before has the capsule of that time.
    func leavesCapsule(of error: SignInError) -> Bool {
        switch step {
        case .cancel: false
        case .notification: true
        case .end: times.last != nil || error.code == .expired
        case .start, .retry, .poll: times.last != nil && error.code != .rateLimited
        }
    }

    /// The step turns out to be another one.
    func become(_ other: Step) {
        step = other
        metadata["step"] = "\(other.rawValue)"
    }

    /// A value of a step that has changed nothing, and gets no line.
    func quietly<Value>(_ value: Value) -> Value {
        isQuiet = true
        return value
    }

    /// Logs a poll without a usable response, at once. The sign-in goes on.
    func write(pollFailure error: SignInError) {
        var metadata = metadata
        error.write(to: &metadata, failedAt: times.last)
        logger.warning("\(SignInReport.Kind.backchannelAuthentication.event) poll failed", metadata: metadata)
    }

    func writeSuccess() {
        guard !isQuiet else { return }
        let nanoseconds = times.end()
        if let outcome { report(SignInReport.Outcome(outcome), nil, nanoseconds) }
        metadata["outcome"] = "ok"
        times.write(to: &metadata, all: nanoseconds)
        logger.info("\(SignInReport.Kind.backchannelAuthentication.event)", metadata: metadata)
    }

    func write(_ error: SignInError) {
        let nanoseconds = times.end()
        if step.failureEndsSignIn { report(SignInReport.Outcome(error), error, nanoseconds) }
        error.write(to: &metadata, failedAt: times.last)
        times.write(to: &metadata, all: nanoseconds)
        let message: Logger.Message = "\(SignInReport.Kind.backchannelAuthentication.event) refused"
        guard let refusals else { return logger.log(level: error.fault.logLevel, message, metadata: metadata) }
        let kind = "\(message) \(terms.provider) \(error.code.rawValue) \(times.last?.rawValue ?? "")"
        refusals.log(error.fault.logLevel, message, of: kind, to: logger) { [metadata] in metadata }
    }

    private func report(_ outcome: SignInReport.Outcome, _ error: SignInError?, _ nanoseconds: UInt64) {
        observer(
            SignInReport(
                kind: .backchannelAuthentication, correlationID: CorrelationID(terms.correlationID),
                provider: error?.code == .notFound ? nil : terms.provider,
                // A sign-in that ends was started, so that discovery knows its network.
                network: step == .end ? MCCMNC(terms.network) : nil, outcome: outcome, check: error?.check,
                failedStep: error == nil ? nil : times.last, fault: error?.fault,
                cause: error.map { $0.cause ?? $0.description }, steps: times.steps, nanoseconds: nanoseconds))
    }
}
