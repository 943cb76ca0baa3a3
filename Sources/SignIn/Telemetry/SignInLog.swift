package import Logging
package import OpenIDConnect
package import Primitives
package import StorageModel
import Synchronization

/// Collects one sign-in's log line: network, outcome, and the time of each step.
///
/// No subject, code, token, verifier, nonce or attribute is ever in it.
package struct SignInLog {
    /// Room for the members of most log lines at once.
    private static let usualMembers = 16

    private let provider: String
    private let clientID: ClientID
    private let network: MCCMNC?
    let correlationID: CorrelationID
    private let environment: Environment
    /// Whether anyone can begin it, so that its refusals are sampled. Those of others all have lines.
    private var anyoneCanBegin: Bool
    let kind: SignInReport.Kind
    /// Whether the provider is a configured one.
    var providerIsKnown = true
    /// Whether discovery knows the network before the steps tell.
    private var discoveryKnowsNetwork = true
    /// The same sign-in was sent before.
    var wasSentBefore = false
    /// The sign-in has moved an account from another carrier.
    var hasMoved = false
    /// The user of a sign-in that succeeded, for the report alone; nil until then.
    var user: UserID?
    /// What a feature found out besides.
    var notes: Logger.Metadata = [:]
    var times: StepTimes

    init(
        _ request: SignInRequest, _ correlationID: CorrelationID, _ kind: SignInReport.Kind, in environment: Environment
    ) {
        self.init(
            kind, at: request.provider, for: request.clientID, request.network, correlationID, StepTimes(),
            in: environment)
        (providerIsKnown, discoveryKnowsNetwork) = (false, false)
        // A link and a transaction have a session.
        anyoneCanBegin = kind == .signIn && (request.isKeyless || request.isRedirectFlow)
    }

    /// For a sign-in by redirects that has no code yet. Its provider is a known one, and discovery knows its network.
    package init(
        _ kind: SignInReport.Kind, at provider: ProviderReference, for clientID: ClientID, _ network: MCCMNC?,
        _ correlationID: CorrelationID, _ times: StepTimes, in environment: Environment
    ) {
        self.kind = kind
        // Only a session begins a link.
        anyoneCanBegin = kind == .signIn
        self.provider = provider.text
        self.clientID = clientID
        self.network = network
        self.correlationID = correlationID
        self.times = times
        self.environment = environment
    }

    /// Writes a line of its own, at once.
    func note(_ message: Logger.Message, _ details: Logger.Metadata, at level: Logger.Level) {
        environment.logger.log(level: level, message, metadata: metadata.merging(details) { $1 })
    }

    mutating func write(_ outcome: SignInReport.Outcome) {
        let nanoseconds = report(outcome, nil)
        guard environment.logger.logLevel <= .info else { return }
        var metadata = metadata
        times.write(to: &metadata, all: nanoseconds)
        metadata["outcome"] = "\(outcome.name)"
        environment.logger.info("\(kind.event)", metadata: metadata)
    }

    package mutating func write(_ error: SignInError) {
        let nanoseconds = report(SignInReport.Outcome(error), error)
        let (level, logger) = (error.fault.logLevel, environment.logger)
        guard logger.logLevel <= level else { return }
        func line() -> Logger.Metadata {
            var metadata = metadata
            times.write(to: &metadata, all: nanoseconds)
            error.write(to: &metadata, failedAt: times.last)
            return metadata
        }
        let message: Logger.Message = "\(kind.event) refused"
        guard anyoneCanBegin else { return logger.log(level: level, message, metadata: line()) }
        let place = "\(providerIsKnown ? provider : "") \(error.code.rawValue) \(times.last?.rawValue ?? "")"
        environment.refusals.log(level, message, of: "\(message) \(place)", to: logger, line)
    }

    /// - Returns: The duration of the whole sign-in, in nanoseconds.
    private mutating func report(_ outcome: SignInReport.Outcome, _ error: SignInError?) -> UInt64 {
        let nanoseconds = times.end()
        let report = SignInReport(
            kind, correlationID, provider: providerIsKnown ? provider : nil, network: networkIsKnown ? network : nil,
            outcome, error, times, nanoseconds, user: user)
        for observer in environment.observers { observer(report) }
        return nanoseconds
    }

    /// After discovery, the network is a known one.
    private var networkIsKnown: Bool {
        switch times.last {
        case nil, .recall, .discovery: discoveryKnowsNetwork
        default: true
        }
    }

    private var metadata: Logger.Metadata {
        var metadata = Logger.Metadata(minimumCapacity: Self.usualMembers)
        metadata["correlation_id"] = "\(correlationID)"
        metadata["client_id"] = "\(clientID)"
        if let network { metadata["mccmnc"] = "\(network)" }
        if providerIsKnown { metadata["provider"] = "\(provider)" }
        if wasSentBefore { metadata["sent_before"] = "true" }
        if hasMoved { metadata["moved"] = "true" }
        for (name, value) in notes { metadata[name] = value }
        return metadata
    }
}

extension SignInReport.Kind {
    package var event: String {
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
    package func write(to metadata: inout Logger.Metadata, failedAt step: SignInReport.Step?) {
        metadata["outcome"] = "\(codeText)"
        metadata["error_type"] = "\(self.errorType.rawValue)"
        if let step { metadata["failed_step"] = "\(step.rawValue)" }
        if let check = self.check { metadata["check"] = "\(check.rawValue)" }
        metadata["cause"] = "\(self.cause ?? description)"
        if let carrierError = self.carrierError { metadata["carrier_error"] = "\(carrierError)" }
        guard let request = self.request else { return }
        metadata["host"] = "\(request.host)"
        if let status = request.status { metadata["status"] = .stringConvertible(status) }
        if let transportError = request.transportError { metadata["transport"] = "\(transportError)" }
    }
}

extension SignInError.Fault {
    package var logLevel: Logger.Level {
        switch self {
        case .client: .info
        case .provider: .warning
        case .ours: .error
        }
    }
}

/// The outcome and the duration of one sign-in. It has the user's number in the database, and no
/// code or token.
package struct SignInReport: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        case signIn = "sign_in"
        case link
        case transaction
        case backchannelAuthentication = "server_initiated"
    }

    /// The steps of a sign-in, described in docs/observability.md.
    package enum Step: String, Sendable, CaseIterable {
        case recall
        case discovery
        case pushedAuthorization = "par"
        case attempt
        case request
        case token
        case keys
        case validate
        case userinfo
        case number
        case telcoFinder = "finder"
        case simSwap = "sim"
        case migrate
        case store
    }

    package struct StepTime: Sendable, Hashable {
        package let step: Step
        /// The nanoseconds that the step took in all, without the steps that interrupted it.
        package var nanoseconds: UInt64
        /// When the step first began and when it last ended, in nanoseconds since the sign-in began.
        package let start: UInt64
        package var end: UInt64
    }

    package let kind: Kind
    /// Names the sign-in in logs. An app may have chosen it. Nil if the stored one cannot be read.
    package let correlationID: CorrelationID?
    /// The name of the configured provider; nil if the request named none.
    package let provider: String?
    /// The carrier's network; nil if discovery does not know it, and for providers other than carriers.
    package let network: MCCMNC?
    package let outcome: Outcome
    package let check: IDTokenCheck?
    /// The step that failed; nil after a success, and if the request was refused before the first step.
    package let failedStep: Step?
    /// Who caused a failure; nil after a success.
    package let fault: SignInError.Fault?
    /// What was wrong, as the log says it; nil after a success.
    package let cause: String?
    package let steps: [StepTime]
    /// The duration of the whole sign-in.
    package let nanoseconds: UInt64
    /// The user of a sign-in that succeeded; nil for any other. Statistics count different users by it. Logs, metrics
    /// and spans never have it.
    package let user: UserID?
}

extension SignInReport {
    package init(
        _ kind: Kind, _ correlationID: CorrelationID?, provider: String?, network: MCCMNC?, _ outcome: Outcome,
        _ error: SignInError?, _ times: StepTimes, _ nanoseconds: UInt64, user: UserID? = nil
    ) {
        self.init(
            kind: kind, correlationID: correlationID, provider: provider, network: network, outcome: outcome,
            check: error?.check, failedStep: error == nil ? nil : times.last, fault: error?.fault,
            cause: error.map { $0.cause ?? $0.description }, steps: times.steps, nanoseconds: nanoseconds,
            user: user)
    }
}

/// Called at the end of every sign-in. It must return quickly.
package typealias SignInObserver = @Sendable (SignInReport) -> Void

extension SignInReport {
    package enum Outcome: Sendable, Hashable, CaseIterable {
        case signedIn, signedUp, mustRegister, linked, wasLinked, authorized
        /// By the user, or the provider for them: `access_denied`, and the providers' own codes for that.
        case denied
        /// With this error; one value for all codes of the providers' own.
        case refused(SignInError.Code)

        package static let allCases: [Outcome] =
            [.signedIn, .signedUp, .mustRegister, .linked, .wasLinked, .authorized, .denied]
            + SignInError.Code.allCases.map(Outcome.refused)

        package var name: String {
            switch self {
            case .signedIn: "signed_in"
            case .signedUp: "signed_up"
            case .mustRegister: "must_register"
            case .linked: "linked"
            case .wasLinked: "was_linked"
            case .authorized: "authorized"
            case .denied: "denied"
            case .refused(let code): code.rawValue
            }
        }

        package init(_ error: SignInError) {
            self = ProviderErrorTable.row(of: error.codeText).isDenial ? .denied : .refused(error.code)
        }

        package init(_ outcome: SignInOutcome) {
            self =
                switch outcome {
                case .signedIn(let signedIn): signedIn.isNew && !signedIn.isRepeated ? .signedUp : .signedIn
                case .mustRegister: .mustRegister
                }
        }
    }
}

package struct StepTimes: Sendable {
    /// Room for the steps of most sign-ins at once.
    private static let usualSteps = 6

    private let stopwatch = Stopwatch()
    private var current: (step: SignInReport.Step, began: UInt64)?
    /// The last step of the sign-in itself. ``SignInReport/Step/recall`` may follow a failure, and counts only if it is
    /// the only step.
    package private(set) var last: SignInReport.Step?
    /// Each step once, in the order in which they first ended.
    package private(set) var steps: [SignInReport.StepTime] = []

    package init() {}

    /// Starts a step, and ends the step before.
    package mutating func begin(_ step: SignInReport.Step) {
        current = (step, end())
        if step != .recall || last == nil { last = step }
    }

    /// Ends the current step, if there is one.
    /// - Returns: Nanoseconds since the sign-in began.
    @discardableResult
    package mutating func end() -> UInt64 {
        let now = stopwatch.nanoseconds
        guard let ended = current else { return now }
        current = nil
        if let place = steps.firstIndex(where: { $0.step == ended.step }) {
            steps[place].nanoseconds += now - ended.began
            steps[place].end = now
        } else {
            if steps.isEmpty { steps.reserveCapacity(Self.usualSteps) }
            steps.append(.init(step: ended.step, nanoseconds: now - ended.began, start: ended.began, end: now))
        }
        return now
    }

    /// Nanoseconds since the sign-in began.
    var elapsed: UInt64 { stopwatch.nanoseconds }

    /// Adds `token_ms` and so on for the steps, and `ms` for the whole sign-in.
    package func write(to metadata: inout Logger.Metadata, all nanoseconds: UInt64) {
        for time in steps {
            metadata["\(time.step.rawValue)_ms"] = .stringConvertible(Stopwatch.milliseconds(time.nanoseconds))
        }
        metadata["ms"] = .stringConvertible(Stopwatch.milliseconds(nanoseconds))
    }
}

/// Writes the log lines that anyone can cause: ten of each kind in a minute, so that a flood of one kind hides no
/// other. The next line of a kind has the number of those that were left out, in `left_out`. A log at `debug` has all.
package final class LogSamplers: Sendable {
    /// Beyond it, all other kinds are sampled as one.
    private static let maximumKinds = 1024

    private let clock: WallClock
    private let samplers = Mutex<[String: LogSampler]>([:])

    package init(clock: WallClock) { self.clock = clock }

    /// Logs a line, if it is not left out.
    /// - Parameter kind: What is sampled together: a text of this program or of the configuration, not of a request.
    package func log(
        _ level: Logger.Level, _ message: Logger.Message, of kind: String, to logger: Logger,
        _ metadata: () -> Logger.Metadata
    ) {
        guard logger.logLevel <= level else { return }
        let isWhole = logger.logLevel <= .debug
        guard let leftOut = isWhole ? 0 : sampler(of: kind).take(at: clock.now()) else { return }
        var metadata = metadata()
        if leftOut > 0 { metadata["left_out"] = .stringConvertible(leftOut) }
        logger.log(level: level, message, metadata: metadata)
    }

    private func sampler(of kind: String) -> LogSampler {
        samplers.withLock { samplers in
            let kind = samplers[kind] != nil || samplers.count < Self.maximumKinds ? kind : ""
            if let sampler = samplers[kind] { return sampler }
            let sampler = LogSampler()
            samplers[kind] = sampler
            return sampler
        }
    }
}

extension LogSamplers {
    /// Logs a refusal at a provider. Each provider has its own lines.
    package func log(
        _ error: SignInError, _ message: Logger.Message, at provider: String?, _ metadata: Logger.Metadata,
        to logger: Logger
    ) {
        log(error.fault.logLevel, message, of: "\(message) \(provider ?? "")", to: logger) {
            var metadata = metadata
            if let provider { metadata["provider"] = "\(provider)" }
            metadata["outcome"] = "\(error.codeText)"
            metadata["reason"] = "\(error.description)"
            return metadata
        }
    }
}
