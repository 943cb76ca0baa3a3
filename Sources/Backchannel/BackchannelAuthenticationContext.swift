import Logging
import OpenIDConnect
import Primitives
import SignIn

/// One backchannel authentication with its client and provider, and what it asks of the provider.
struct BackchannelAuthenticationContext: UserVerification {
    let terms: BackchannelAuthenticationRecord.Terms
    let client: SignInConfiguration.Client
    let target: SignInTarget
    let provider: ProviderMetadata
    /// Of the step that needs it.
    let log: BackchannelAuthenticationLog

    var relyingParty: RelyingParty { target.relyingParty }
    var correlationID: CorrelationID { terms.correlationID }
    var demand: AuthenticationDemand { target.completed(terms.demand, of: client.id) }
    /// How a provider other than a carrier delivers the tokens; nil for a carrier, whose notification has them.
    var deliveryMode: BackchannelTokenDeliveryMode? { target.provider.openID?.backchannelTokenDelivery.mode }

    func begin(_ step: SignInReport.Step) { log.begin(step) }

    func note(_ message: Logger.Message, _ details: Logger.Metadata, at level: Logger.Level) {
        log.note(message, details, at: level)
    }

    /// Validates the ID token of a notification or a poll, and fetches the attributes if they are asked for.
    /// - Parameters:
    ///   - key: The key that the access token is bound to; nil for a Bearer token.
    ///   - requestID: The provider's id of the request, which the ID token may repeat (CIBA Core section 10.3.1).
    ///   - nonce: The nonce of the request, which the ID token may leave out; nil if it had none.
    ///   - tokens: The provider's tokens, if they are kept.
    func verify(
        _ idToken: Secret, _ accessToken: Secret?, boundTo key: DPoPKey? = nil, of requestID: Secret, nonce: Secret?,
        keeping tokens: TokenResponse? = nil, at now: Timestamp? = nil
    ) async throws(OIDCError) -> VerifiedSignIn {
        var expectation = expectation(nonce: nonce, accessToken: accessToken)
        expectation.nonceMayBeMissing = true
        expectation.requestID = requestID
        let verified = try await validate(idToken, expectation, from: provider)
        let kept = tokens.flatMap { tokens in now.map { ProviderTokens(tokens, verified, at: $0) } }
        guard wantsAttributes, let accessToken else { return VerifiedSignIn(verified, nil, kept) }
        return VerifiedSignIn(
            verified, try await fetchAttributes(about: verified, with: accessToken, key, from: provider), kept)
    }
}

extension BackchannelAuthenticationContext {
    /// Sends a request that was checked, once. The token is for the provider's notification.
    typealias Sending = (NotificationToken) async throws(OIDCError) -> BackchannelAuthenticationResponse

    /// Checks that a request can be sent to a carrier, before it counts.
    func carrierRequest(notifiedAt endpoint: EndpointURL?) throws(SignInError) -> Sending {
        guard let carrier = terms.carrier else { throw .internalFault }
        guard let key = client.rules.signingKey else { throw .clientHasNoKey }
        guard let endpoint else { throw .addressUnknown }
        guard provider.serverInitiatedAuthorizationEndpoint != nil else { throw .carrierCannotStart }
        return { (token) async throws(OIDCError) in
            var request = ServerInitiatedAuthorizationRequest(
                clientID: client.id, redirectURI: carrier.redirectURI, loginHint: carrier.loginHint.text,
                demand: demand, state: token.state, nonce: token.nonce, correlationID: correlationID,
                notificationEndpoint: endpoint, notificationToken: token.text)
            request.options = carrier.options
            return try await relyingParty.start(request, signedWith: key, provider: provider)
        }
    }

    /// Checks that a request can be sent to a provider other than a carrier, before it counts. The provider has the
    /// notification endpoint in the client's registration.
    func providerRequest(
        _ message: BackchannelAuthenticationRequest, _ mode: BackchannelTokenDeliveryMode
    ) throws(SignInError) -> Sending {
        let metadata = try mappingErrors(try provider.metadataForBackchannelAuthentication()) { (error: OIDCError) in
            SignInError.carrierCannotStart.explained(by: error)
        }
        guard metadata.mayDeliver(by: mode) else { throw .deliveryModeNotSupported }
        guard message.userCode == nil || metadata.acceptsUserCode else { throw .userCodeNotSupported }
        let needsMessage = target.provider.openID?.requiresBindingMessage ?? false
        guard message.bindingMessage != nil || !needsMessage else { throw .bindingMessageMissing }
        return { (token) async throws(OIDCError) in
            var request = message
            request.acrValues = demand.acrValues
            if mode == .ping { request.notificationToken = token.text }
            return try await relyingParty.authenticate(
                request, client: client.credentials, signedWith: client.rules.signingKey, provider: provider,
                correlationID: correlationID)
        }
    }
}

extension BackchannelAuthentication {
    /// Checks a sign-in and finds its provider.
    func context(
        of terms: BackchannelAuthenticationRecord.Terms, _ log: BackchannelAuthenticationLog
    ) async throws(SignInError) -> BackchannelAuthenticationContext {
        let target = try providers.find(ProviderReference(text: terms.provider))
        guard let client = target.server.clients[terms.clientID] else { throw .unknownClient }
        if target.usesNetworkDiscovery {
            guard let redirectURI = terms.carrier?.redirectURI else { throw .internalFault }
            guard client.mayHaveNamed(redirectURI) else {
                throw .redirectURINotRegistered(redirectURI, among: client.rules.redirectURIs)
            }
        } else {
            guard target.provider.openID?.backchannelTokenDelivery.mode != nil else { throw .backchannelOff }
            guard client.authentication != .publicClient else { throw .clientCannotAuthenticate }
        }
        let provider = try await target.discover(terms.network, for: client.id, terms.correlationID)
        return BackchannelAuthenticationContext(
            terms: terms, client: client, target: target, provider: provider, log: log)
    }
}

/// Collects the log line of one step of a backchannel authentication: client, network and outcome, never the user.
///
/// A class, which one task has: the step and what it waits for write to it.
final class BackchannelAuthenticationLog {
    /// What an app or a provider asks for.
    enum Step: String {
        case start
        case end
        case retry
        case cancel
        case notification
        /// The provider is asked for the outcome, and has none.
        case poll
    }

    private let environment: Environment
    private let terms: BackchannelAuthenticationRecord.Terms
    /// Whether the caller has no API key. The refusals of others all have lines.
    let isKeyless: Bool
    /// A poll that brings the outcome turns out to be the end.
    var step: Step
    private(set) var times = StepTimes()
    /// Whether the sign-in has moved an account from another carrier.
    var hasMoved = false
    /// What the observer of failures gets of the notification, if there is one.
    var notification: [FailedOperation.Member] = []
    /// The outcome of the whole sign-in, once it has ended.
    var outcome: SignInOutcome?

    init(
        _ step: Step, _ terms: BackchannelAuthenticationRecord.Terms, isKeyless: Bool, in environment: Environment
    ) {
        self.environment = environment
        self.step = step
        self.terms = terms
        self.isKeyless = isKeyless
    }

    /// Starts the time of a step, and ends the step before.
    func begin(_ step: SignInReport.Step) { times.begin(step) }

    /// Writes a line of its own, at once.
    func note(_ message: Logger.Message, _ details: Logger.Metadata, at level: Logger.Level) {
        environment.logger.log(level: level, message, metadata: metadata.merging(details) { $1 })
    }

    /// Whether the observer of failures gets a failure. It does not get a request that is refused before its first step
    /// or for a limit. It does not get the outcome of a sign-in that failed before, because it has that already.
    func isReported(_ error: SignInError) -> Bool {
        switch step {
        case .cancel: false
        case .notification: true
        case .end: times.last != nil || error.code == .expired
        case .start, .retry, .poll: times.last != nil && error.code != .rateLimited
        }
    }

    /// Logs a poll without a usable response, at once. The sign-in goes on.
    func write(pollFailure error: SignInError) {
        var metadata = metadata
        error.write(to: &metadata, failedAt: times.last)
        environment.logger.warning(
            "\(SignInReport.Kind.backchannelAuthentication.event) poll failed", metadata: metadata)
    }

    func writeSuccess() {
        // A poll that brought nothing has changed nothing.
        guard step != .poll else { return }
        let nanoseconds = times.end()
        if let outcome { report(SignInReport.Outcome(outcome), nil, nanoseconds) }
        var metadata = metadata
        metadata["outcome"] = "ok"
        times.write(to: &metadata, all: nanoseconds)
        environment.logger.info("\(SignInReport.Kind.backchannelAuthentication.event)", metadata: metadata)
    }

    func write(_ error: SignInError) {
        let nanoseconds = times.end()
        // The sign-in has failed then.
        if step == .start || step == .end { report(SignInReport.Outcome(error), error, nanoseconds) }
        var metadata = metadata
        error.write(to: &metadata, failedAt: times.last)
        times.write(to: &metadata, all: nanoseconds)
        let message: Logger.Message = "\(SignInReport.Kind.backchannelAuthentication.event) refused"
        let logger = environment.logger
        guard isKeyless else { return logger.log(level: error.fault.logLevel, message, metadata: metadata) }
        let kind = "\(message) \(terms.provider) \(error.code.rawValue) \(times.last?.rawValue ?? "")"
        environment.refusals.log(error.fault.logLevel, message, of: kind, to: logger) { metadata }
    }

    private func report(_ outcome: SignInReport.Outcome, _ error: SignInError?, _ nanoseconds: UInt64) {
        let report = SignInReport(
            .backchannelAuthentication, terms.correlationID,
            provider: error?.code == .notFound ? nil : terms.provider,
            // A sign-in that ends was started, so that discovery knows its network.
            network: step == .end ? terms.network : nil, outcome, error, times, nanoseconds,
            user: error == nil ? self.outcome?.user : nil)
        for observer in environment.observers { observer(report) }
    }

    private var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [
            "step": "\(step.rawValue)", "correlation_id": "\(terms.correlationID)", "client_id": "\(terms.clientID)",
        ]
        if let network = terms.network {
            metadata["mccmnc"] = "\(network)"
        } else {
            metadata["provider"] = "\(terms.provider)"
        }
        if hasMoved { metadata["moved"] = "true" }
        return metadata
    }
}
