package import OpenIDConnect
package import Primitives

/// What a failed operation was about: whom it asked, and what was requested. It is made after a failure only, because
/// it costs something. It has secrets and personal data.
package struct FailedOperation {
    /// A use case. The raw value is its name for administrators.
    package enum Flow: String, Sendable, CaseIterable {
        /// A sign-in with a code that an app brings.
        case code
        /// A sign-in with a TS.43 temporary token.
        case operatorToken = "operator_token"
        /// A sign-in with an ID token that an app brings.
        case native
        /// A sign-in by redirects, from the start to the session.
        case redirect
        case link
        case transaction
        case phoneVerification = "phone_verification"
        case backchannelAuthentication = "backchannel_authentication"
        case backchannelLogout = "backchannel_logout"
    }

    /// A requested value, by what of it may be shown to administrators.
    package enum Value {
        /// A configured name, or one of this program: shown.
        case name(String)
        case flag(Bool)
        case number(Int64)
        /// Shown if it is known, otherwise a pseudonym.
        case text(String)
        /// As ``text(_:)``, each.
        case words([String])
        /// A provider's error code: shown if it is known, otherwise its length.
        case code(String)
        /// Always a pseudonym.
        case secret(Secret)
        /// An unverified token of at most so many bytes, and the result of each check: the shape of what it says.
        case token(Secret, maximumBytes: Int, checks: [(name: String, verdict: String)]?)
        /// Several, under their own names.
        case members([Member])
    }

    package typealias Member = (name: String, value: Value?)

    /// Who can cause a failure, so that a record of failures can have limits for each.
    package enum Origin: Sendable, CaseIterable {
        /// A caller with an API key or a session, or a provider that was recognised.
        case known
        /// A sign-in that needs no API key, by redirects or of a page. Anyone can begin any number, and give them
        /// several causes.
        case keyless
        /// A caller who proved nothing: anyone can send any number of it.
        case unauthenticated
    }

    package let flow: Flow
    /// Of the operation, in the logs.
    package let correlationID: String
    package let provider: String
    /// Nil if it was not known yet.
    package let client: SignInConfiguration.Client?
    package let relyingParty: RelyingParty?
    package let network: MCCMNC?
    package let times: StepTimes
    /// What was requested, besides the members above.
    package let requested: [Member]
    /// The check of a token that is not an ID token, if it failed one.
    package let check: String?
    /// Configured texts that are shown, besides those of the client and the provider's metadata.
    package let known: [String]
    package var origin: Origin
    /// Members of ``requested`` that cost much to make. Called only if they are recorded.
    package let costly: () -> [Member]

    package init(
        flow: Flow, correlationID: String, provider: String, client: SignInConfiguration.Client?,
        relyingParty: RelyingParty?, network: MCCMNC?, times: StepTimes, requested: [Member], check: String? = nil,
        known: [String] = [], origin: Origin = .known, costly: @escaping () -> [Member] = { [] }
    ) {
        self.flow = flow
        self.correlationID = correlationID
        self.provider = provider
        self.client = client
        self.relyingParty = relyingParty
        self.network = network
        self.times = times
        self.requested = requested
        self.check = check
        self.known = known
        self.origin = origin
        self.costly = costly
    }
}

extension FailedOperation {
    /// What a caller sent who proved nothing.
    /// - Parameters:
    ///   - requestID: Stands for the correlation id, which is not known.
    ///   - server: The provider that it names; nil if there is none.
    package init(
        ofUnknownCaller flow: Flow, requestID: String, at provider: String, _ server: AuthorizationServer?,
        requested: [Member], check: String? = nil, costly: @escaping () -> [Member] = { [] }
    ) {
        self.init(
            flow: flow, correlationID: requestID, provider: provider, client: nil, relyingParty: server?.relyingParty,
            network: nil, times: StepTimes(), requested: requested, check: check,
            known: server?.clients.keys.map(\.text) ?? [], origin: .unauthenticated, costly: costly)
    }

    /// A run, or what is made of one.
    package init(_ flow: FailedOperation.Flow, _ run: SignInRun, _ more: [Member] = []) {
        let request = run.request
        self.init(
            flow: flow, correlationID: run.correlationID.text, provider: request.provider.text, client: run.client,
            relyingParty: run.relyingParty, network: request.network, times: run.log.times,
            requested: [
                ("redirect_uri", request.redirectURI.flatMap { $0.isEmpty ? nil : .text($0) }),
                ("started_here", .flag(request.isRedirectFlow)),
                ("operator_token", .flag(request.standsInForCode && run.target.provider.group != nil)),
                ("code", .secret(request.code)), ("has_code_verifier", .flag(request.codeVerifier != nil)),
                ("nonce", request.nonce.map { .secret($0) }),
            ] + run.demand.failureMembers + [("max_age", run.demand.maximumAge.map { .number($0) })] + more)
    }

    /// A run that has a log line; nil if it failed before it began a step. The observer
    /// has the failure of a repeated request already: such a run has no other step than `recall`.
    init?(_ run: SignInRun) {
        guard let step = run.log.times.last, step != .recall else { return nil }
        let request = run.request
        let flow: FailedOperation.Flow =
            switch run.log.kind {
            case .link: .link
            case .transaction: .transaction
            case .signIn, .backchannelAuthentication:
                !request.standsInForCode
                    ? request.isRedirectFlow ? .redirect : .code
                    : run.target.provider.group == nil ? .native : .operatorToken
            }
        self.init(flow, run)
        // A link and a transaction have a session.
        if run.log.kind == .signIn, request.isRedirectFlow || request.isKeyless { origin = .keyless }
    }
}

extension FailedOperation.Value {
    /// An unverified token, and the result of each check.
    package static func token<Check>(
        _ text: Secret, maximumBytes: Int, _ explanation: TokenExplanation<Check>?, failed: Check?
    ) -> Self {
        let checks = explanation?.steps.map { step in
            // The keys of that time may be gone: the token was refused by this check all the same.
            (step.check.rawValue, (step.check == failed ? .failed : step.verdict).rawValue)
        }
        return .token(text, maximumBytes: maximumBytes, checks: checks)
    }
}

/// Called with an operation that failed, its error, and what providers sent. The response waits until it returns.
package typealias FailureObserver = @Sendable (FailedOperation, SignInError, ProtocolRecord) async -> Void

/// What every use case does for the observers of failures. Without one nothing is recorded.
extension [FailureObserver] {
    /// Runs an operation with a record of what providers send. If the operation fails, it calls the observers.
    ///
    /// An operation within another one adds to the outer one's record. Only one of the two may report a failure.
    /// - Parameters:
    ///   - correlationID: Is in the error; nil for an operation that names none.
    ///   - sentNames: As in ``SignInError/with(_:_:)``.
    ///   - failed: Called with the failure, whether or not there is an observer. Returns what the operation was about;
    ///     nil for a failure that no observer gets.
    package func recording<Value>(
        as correlationID: CorrelationID? = nil, _ sentNames: [String: String] = [:],
        _ operation: () async throws(SignInError) -> Value, failed: (SignInError) -> FailedOperation?
    ) async throws(SignInError) -> Value {
        let outer = ProtocolRecord.current
        let record = isEmpty ? nil : outer ?? ProtocolRecord()
        do throws(SignInError) {
            guard let record, outer == nil else { return try await operation() }
            return try await ProtocolRecord.$current.withValue(record) { () async -> Result<Value, SignInError> in
                do throws(SignInError) { return .success(try await operation()) } catch { return .failure(error) }
            }.get()
        } catch {
            if let operation = failed(error), let record { await tell(operation, error, record) }
            throw correlationID.map { error.with($0, sentNames) } ?? error
        }
    }

    /// Calls the observers with a failure that ends its operation with a value. The operation is a recorded one.
    package func note(_ operation: @autoclosure () -> FailedOperation?, _ error: SignInError) async {
        guard !isEmpty, let record = ProtocolRecord.current, let operation = operation() else { return }
        await tell(operation, error, record)
    }

    private func tell(_ operation: FailedOperation, _ error: SignInError, _ record: ProtocolRecord) async {
        for observer in self { await observer(operation, error, record) }
    }
}
