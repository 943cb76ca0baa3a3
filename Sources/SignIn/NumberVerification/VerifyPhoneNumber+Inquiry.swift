import Logging
import OpenIDConnect
import Primitives
import StorageModel

/// What both ways of a verification have in common: whom to ask, how often, and what the operator says.
extension VerifyPhoneNumber {
    /// Whom a question is for. It is counted for its user.
    /// - Throws: `invalid_request` for a number that is none, or a provider that is not clear; `operator_unknown`;
    ///   `not_found` for an unknown provider; `rate_limited`; what Telco Finder's failure is.
    func inquiry(
        _ question: Question, of user: User, _ correlationID: CorrelationID
    ) async throws(SignInError) -> Inquiry {
        let number = (question.phoneNumber ?? user.profile[.phoneNumber]).flatMap(MSISDN.init)
        guard number != nil || question.phoneNumber == nil else { throw .numberMalformed }
        let provider = try provider(question.provider)
        var choice = question.choice
        choice.number = number
        choice.caller = choice.caller.of(user.id)
        try choice.caller.check(mayUseOneOf: provider.allClients)
        try await admit(number, of: user.id)
        let target = try await operators.choose(at: provider, choice, .phoneVerification, correlationID)
        guard let mobileOperator = target.mobileOperator?.settings, let client = target.server.client(nil) else {
            throw .noOperatorTokens
        }
        return Inquiry(number: number, target: target, mobileOperator: mobileOperator, client: client)
    }

    private func provider(_ name: String?) throws(SignInError) -> Provider {
        if let name { return try providers.find(name) }
        let candidates = providers.all.filter { $0.server == nil }
        guard let only = candidates.first, candidates.count == 1 else {
            throw candidates.isEmpty ? .unknownProvider(in: providers) : .providerOfNumbersNotNamed
        }
        return only
    }

    /// Counts the verification for its user, unless those of its number are used up. Before the operator is known:
    /// Telco Finder is asked for no more numbers than a user may verify.
    private func admit(_ number: MSISDN?, of user: UserID) async throws(SignInError) {
        let now = clock.now()
        let ofUser = AllowanceUse(of: "phone verification of user \(user.number)", Self.allowance)
        var wait = try await stored(await store.phoneVerificationWait(for: uses(of: number, by: user), at: now))
        if wait == nil { wait = try await stored(await store.countPhoneVerification(for: [ofUser], at: now)) }
        if let wait { throw .tooManyVerifications(wait) }
    }

    /// Counts a verification for its number, because the operator is about to be asked.
    /// - Throws: `rate_limited`, and then the operator must not be asked.
    func count(_ subject: PendingPhoneVerification) async throws(SignInError) {
        let uses = uses(of: subject.phoneNumber.flatMap(MSISDN.init), by: subject.user)
        guard !uses.isEmpty else { return }
        let wait = try await stored(await store.countPhoneVerification(for: uses, at: clock.now()))
        if let wait { throw .tooManyVerifications(wait) }
    }

    /// What a verification uses up of its number's allowance. One user may use half, so that nobody can use it up for
    /// the number's owner.
    private func uses(of number: MSISDN?, by user: UserID) -> [AllowanceUse] {
        guard let number else { return [] }
        let ofNumber = "phone verification of number \(number.text)"
        return [
            AllowanceUse(of: ofNumber, Self.allowance),
            AllowanceUse(of: "\(ofNumber) by user \(user.number)", Self.allowance.half),
        ]
    }

    /// A run at the operator. It has no log line: that of the verification has what it finds.
    func run(_ request: SignInRequest, _ correlationID: CorrelationID) throws(SignInError) -> SignInRun {
        let log = SignInLog(request, correlationID: correlationID, logger: logger, .signIn) { _ in }
        return try SignInRun(request, log, providers, pause: pause, clock: clock)
    }

    /// What the operator says of a verification. What it refuses is an outcome.
    /// - Throws: If it does not respond as it should: nothing is known then.
    func outcome(
        of subject: PendingPhoneVerification, _ run: SignInRun, at provider: ProviderMetadata, _ findings: Findings
    ) async throws(SignInError) -> PhoneVerification {
        do throws(SignInError) {
            return try await answer(to: subject, run, at: provider)
        } catch {
            guard error.fault == .client else { throw error }
            await capsules.keep(CapsuleSubject(findings), error)
            return subject.failed(
                error.codeText, simSwapped: error.code == .simSwapped ? true : nil, at: clock.now())
        }
    }

    private func answer(
        to subject: PendingPhoneVerification, _ run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> PhoneVerification {
        guard let mobileOperator = run.mobileOperator else { throw .internalFault }
        let asked = subject.phoneNumber.flatMap(MSISDN.init)
        let tokens = try await run.exchangeCode(at: provider, for: mobileOperator.scopes(toVerify: asked))
        guard let (number, _) = try await run.number(asked, from: mobileOperator, with: tokens, at: provider, operators)
        else { return subject.ended(.mismatch, phoneNumber: asked?.text, simSwapped: nil, at: clock.now()) }
        let sim = run.log.simSwap
        return subject.ended(
            .verified, phoneNumber: number.text, simSwapped: sim == .unknown ? nil : sim.map { $0 == .swapped },
            at: clock.now())
    }

    func log(_ verification: PhoneVerification, _ findings: Findings, _ correlationID: CorrelationID) {
        observer(PhoneVerificationReport(verification))
        log(verification.error ?? verification.status.rawValue, .info, correlationID, findings)
    }

    func log(_ error: SignInError, _ correlationID: CorrelationID, _ findings: Findings = Findings()) {
        observer(PhoneVerificationReport(operatorName: findings.operatorName, outcome: .refused(error.code)))
        write(error, correlationID, findings)
    }

    /// Writes a line, and counts nothing.
    func write(_ error: SignInError, _ correlationID: CorrelationID, _ findings: Findings) {
        log(error.codeText, error.fault.logLevel, correlationID, findings, error)
    }

    /// Writes a line, and counts nothing.
    /// - Parameter error: Why the verification failed, if the operator or this server is at fault.
    func log(
        _ outcome: String, _ level: Logger.Level, _ correlationID: CorrelationID, _ findings: Findings = Findings(),
        _ error: SignInError? = nil
    ) {
        var metadata: Logger.Metadata = ["correlation_id": "\(correlationID)", "outcome": "\(outcome)"]
        if let name = findings.operatorName { metadata["operator"] = "\(name)" }
        error?.write(to: &metadata, failedAt: findings.run?.log.times.last)
        if let finding = findings.run?.log.operatorFinding { metadata["telco_finder"] = "\(finding.rawValue)" }
        if let sim = findings.run?.log.simSwap { metadata["sim_swap"] = "\(sim.rawValue)" }
        logger.log(level: level, "phone verification", metadata: metadata)
    }
}
