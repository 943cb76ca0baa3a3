import Logging
package import OpenIDConnect
package import Primitives
package import StorageModel

/// Asks a mobile operator whether a number belongs to a signed-in user's device.
///
/// The device is authenticated by an operator token, or over the mobile network by redirects
/// (`VerifyPhoneNumber+Redirect.swift`). A mismatch never changes the account. The outcome is for the session that
/// asked, and each operator token and each access token is for one call.
package struct VerifyPhoneNumber: UseCase {
    /// What a session asks.
    package struct Question: Sendable {
        /// `+` and digits. Nil for the number of the profile; where it has none, the operator tells the number.
        package var phoneNumber: String?
        /// The provider's name in paths; nil for the only one with mobile operators.
        package var provider: String?
        /// Without a name and a network, Telco Finder chooses by the number that is verified.
        package var choice: OperatorChoice
        package var correlationID: CorrelationID?
        /// The names under which the client sent fields, by their names in RFC 6749, if they differ.
        package var sentNames: [String: String] = [:]

        package init(choice: OperatorChoice) { self.choice = choice }
    }

    /// A verification, with the id to read it again.
    package struct Outcome: Sendable {
        package let id: String
        package let state: PhoneVerificationState
        package let correlationID: CorrelationID?
    }

    /// What was found out beside the outcome, for the log, the metrics and the observer of failures.
    struct Findings {
        let correlationID: CorrelationID
        /// Nil until the operator is known.
        var operatorName: String?
        /// Nil until the operator is asked.
        var run: SignInRun?
        /// The number that the operator is asked about.
        var number: String?
    }

    /// Who is asked, and about which number.
    struct Inquiry {
        /// Nil if the operator shall tell the number.
        let number: MSISDN?
        let target: SignInTarget
        let mobileOperator: MobileOperator.Settings
        let client: SignInConfiguration.Client

        func verification(
            _ id: String, of holder: SessionAndUser, expiresAt: Timestamp
        ) -> PendingPhoneVerification {
            PendingPhoneVerification(
                id: TokenHash(sha256Of: id), user: holder.user.id, session: holder.session.id,
                phoneNumber: number?.text, operatorName: mobileOperator.name, expiresAt: expiresAt)
        }
    }

    /// The limit on verifications: on those that one user begins, and on those of one number that the operator is asked
    /// about, counted over all users. Without it, a session could try numbers until the operator confirms one.
    static let allowance = SharedAllowance(count: 10, seconds: 3600)

    let environment: Environment
    let operators: OperatorDirectory
    let store: any PhoneVerificationStore
    let oneTimeStore: EncryptedOneTimeStore
    let cache: SessionCache
    let observer: PhoneVerificationObserver

    /// Verifies with the TS.43 temporary token of the device.
    /// - Throws: `invalid_request` for a number that is none, or a provider that is not clear; `unauthorized_client`;
    ///   `operator_unknown`; `invalid_grant` for a token that was used; `rate_limited`; `invalid_token` if the session
    ///   has ended meanwhile; `carrier_error` and the like if the operator cannot be asked. What the operator refuses
    ///   is an outcome.
    package func callAsFunction(
        _ question: Question, with operatorToken: Secret, for holder: SessionAndUser
    ) async throws(SignInError) -> Outcome {
        let correlationID = question.correlationID ?? .random(from: random)
        var findings = Findings(correlationID: correlationID)
        return try await failures.recording(as: correlationID) { () async throws(SignInError) in
            let (id, verification) = try await ask(question, operatorToken, holder, &findings)
            log(verification, findings)
            return Outcome(id: id, state: .ended(verification), correlationID: correlationID)
        } failed: { error in
            log(error, findings)
            return error.code == .rateLimited ? nil : FailedOperation(findings)
        }
    }

    /// A verification, for the session that asked.
    /// - Throws: `not_found` for an id that is unknown, too old, or another session's.
    package func outcome(_ id: String, for holder: SessionAndUser) async throws(SignInError) -> Outcome {
        let found = try await mappingStoreErrors(
            await store.phoneVerification(
                TokenHash(sha256Of: id), in: holder.session.id, expiredAs: SignInError.Code.expired.rawValue,
                at: clock.now()))
        guard let found else { throw .noSuchVerification }
        return Outcome(id: id, state: found, correlationID: nil)
    }

    private func ask(
        _ question: Question, _ operatorToken: Secret, _ holder: SessionAndUser, _ findings: inout Findings
    ) async throws(SignInError) -> (id: String, PhoneVerification) {
        let correlationID = findings.correlationID
        let inquiry = try await inquiry(question, of: holder.user, correlationID)
        findings.operatorName = inquiry.mobileOperator.name
        let request = SignInRequest(
            operatorToken: operatorToken, provider: inquiry.target.reference, clientID: inquiry.client.id,
            correlationID: correlationID)
        let run = try begin(request, correlationID)
        findings.run = run
        findings.number = inquiry.number?.text
        let provider = try await run.discoverProvider()
        try await oneTimeStore.spend(oneTimeStore.use(ofOperatorToken: operatorToken, at: request.provider.text))
        let id = random.token()
        let subject = inquiry.verification(id, of: holder, expiresAt: clock.now())
        // After the token, because one that is sent again never comes to the operator.
        try await count(subject)
        let verification = try await outcome(of: subject, run, at: provider, findings)
        run.begin(.store)
        // Also if the store fails, because the change may have been stored before the failure.
        defer { cache.remove(holder.user.id) }
        let formerHolders = try await mappingStoreErrors(
            await store.addPhoneVerification(verification, by: provider.issuer, requestID: correlationID.text))
        guard let formerHolders else { throw .sessionUnknown }
        for formerHolder in formerHolders { cache.remove(formerHolder) }
        return (id, verification)
    }
}

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
        var wait = try await mappingStoreErrors(
            await store.wait(for: uses(of: number, by: user), at: now))
        if wait == nil {
            wait = try await mappingStoreErrors(await store.count([ofUser], at: now))
        }
        if let wait { throw .tooManyVerifications(wait) }
    }

    /// Counts a verification for its number, because the operator is about to be asked.
    /// - Throws: `rate_limited`, and then the operator must not be asked.
    func count(_ subject: PendingPhoneVerification) async throws(SignInError) {
        let uses = uses(of: subject.phoneNumber.flatMap(MSISDN.init), by: subject.user)
        guard !uses.isEmpty else { return }
        let wait = try await mappingStoreErrors(await store.count(uses, at: clock.now()))
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

    /// A run at the operator. It has no log line: the verification's has what it finds.
    func begin(_ request: SignInRequest, _ correlationID: CorrelationID) throws(SignInError) -> SignInRun {
        try SignInRun(request, SignInLog(request, correlationID, .signIn, in: environment), in: environment)
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
            await failures.note(FailedOperation(findings), error)
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

    func log(_ verification: PhoneVerification, _ findings: Findings) {
        observer(PhoneVerificationReport(verification))
        write(verification.error ?? verification.status.rawValue, findings)
    }

    func log(_ error: SignInError, _ findings: Findings) {
        observer(PhoneVerificationReport(operatorName: findings.operatorName, outcome: .refused(error.code)))
        write(error.codeText, findings, error)
    }

    /// Writes a line, and counts nothing.
    /// - Parameter error: Why the verification failed, if the operator or this server is at fault.
    func write(_ outcome: String, _ findings: Findings, _ error: SignInError? = nil) {
        let log = findings.run?.log
        var metadata: Logger.Metadata = ["correlation_id": "\(findings.correlationID)", "outcome": "\(outcome)"]
        if let name = findings.operatorName { metadata["operator"] = "\(name)" }
        error?.write(to: &metadata, failedAt: log?.times.last)
        if let finding = log?.operatorFinding { metadata["telco_finder"] = "\(finding.rawValue)" }
        if let sim = log?.simSwap { metadata["sim_swap"] = "\(sim.rawValue)" }
        logger.log(level: error?.fault.logLevel ?? .info, "phone verification", metadata: metadata)
    }
}

/// How a verification of a phone number went. It names no user and no number.
package struct PhoneVerificationReport: Sendable, Hashable {
    package enum Outcome: Sendable, Hashable, CaseIterable {
        case verified, mismatch
        /// The session has shown that its own browser brought the finding.
        case confirmed
        /// With this error; one value for all codes of the operators' own.
        case refused(SignInError.Code)

        package static let allCases: [Outcome] =
            [.verified, .mismatch, .confirmed] + SignInError.Code.allCases.map(Outcome.refused)

        /// The name in logs and metrics.
        package var name: String {
            switch self {
            case .verified: "verified"
            case .mismatch: "mismatch"
            case .confirmed: "confirmed"
            case .refused(let code): code.rawValue
            }
        }
    }

    /// The operator's name in the configuration; nil if the request did not come to an operator.
    package let operatorName: String?
    package let outcome: Outcome
}

extension PhoneVerificationReport {
    init(_ verification: PhoneVerification) {
        let outcome: Outcome =
            switch verification.status {
            case .verified: .verified
            case .mismatch: .mismatch
            case .failed: .refused(verification.error.flatMap(SignInError.Code.init) ?? .refusedByProvider)
            }
        self.init(operatorName: verification.operatorName, outcome: outcome)
    }
}

/// Called for every outcome of a verification: of the operator's answer, and of a confirmation. It must return quickly.
package typealias PhoneVerificationObserver = @Sendable (PhoneVerificationReport) -> Void
