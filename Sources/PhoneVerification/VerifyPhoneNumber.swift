import LatchkeyAPI
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// Asks a mobile operator whether a number belongs to a signed-in user's device.
///
/// The device is authenticated by an operator token, or over the mobile network by redirects
/// (`VerifyPhoneNumber+Redirect.swift`). A mismatch never changes the account. The outcome is for the session that
/// asked, and each operator token and each access token is for one call.
struct VerifyPhoneNumber {
    /// What a session asks.
    struct Question: Sendable {
        /// How the device is authenticated.
        enum Means: Sendable {
            /// By the SIM, over any network.
            case operatorToken(Secret)
            /// Over the mobile network, by a browser that ends at this redirect URI.
            case redirect(to: String)
        }

        let means: Means
        /// `+` and digits. Nil for the number of the profile; where it has none, the operator tells the number.
        let phoneNumber: String?
        /// The provider's name in paths; nil for the only one with mobile operators.
        let provider: String?
        /// Without a name and a network, Telco Finder chooses by the number that is verified.
        let choice: OperatorChoice
        let correlationID: CorrelationID?
        /// The names under which the client sent fields, by their names in RFC 6749, if they differ.
        let sentNames: [String: String]
    }

    /// A verification, with the id to read it again.
    struct Outcome: Sendable {
        let id: String
        let state: PhoneVerificationState
        let correlationID: CorrelationID?
    }

    /// Who is asked, and about which number.
    struct Inquiry {
        /// Nil if the operator shall tell the number.
        let number: MSISDN?
        let target: SignInTarget
        let operators: MobileOperators
        let mobileOperator: MobileOperatorSettings
        let client: SignInConfiguration.Client

        func verification(
            _ id: String, of holder: SessionAndUser, expiresAt: Timestamp
        ) -> PendingPhoneVerification {
            PendingPhoneVerification(
                id: TokenHash(sha256Of: id), user: holder.user.id, session: holder.session.id,
                phoneNumber: number?.text, operatorName: mobileOperator.name, expiresAt: expiresAt)
        }
    }

    let api: LatchkeyAPI
    let store: SQLStore
    let outcomes: PhoneVerificationOutcomes

    var environment: Environment { api.useCases.environment }
    var sessions: Sessions { api.useCases.sessions }

    /// Verifies with the TS.43 temporary token of the device.
    /// - Throws: `invalid_request` for a number that is none, or a provider that is not clear; `unauthorized_client`;
    ///   `operator_unknown`; `invalid_grant` for a token that was used; `rate_limited`; `invalid_token` if the session
    ///   has ended meanwhile; `carrier_error` and the like if the operator cannot be asked. What the operator refuses
    ///   is an outcome.
    func callAsFunction(
        _ question: Question, with operatorToken: Secret, for holder: SessionAndUser
    ) async throws(SignInError) -> Outcome {
        let correlationID = question.correlationID ?? .random(from: environment.random)
        var findings = PhoneVerificationFindings(correlationID: correlationID)
        return try await environment.failures.recording(as: correlationID) { () async throws(SignInError) in
            let (id, verification) = try await ask(question, operatorToken, holder, &findings)
            outcomes.note(verification, findings, in: environment.logger)
            return Outcome(id: id, state: .ended(verification), correlationID: correlationID)
        } failed: { error in
            outcomes.note(error, findings, in: environment.logger)
            return error.code == .rateLimited ? nil : FailedOperation(findings)
        }
    }

    /// A verification, for the session that asked.
    /// - Throws: `not_found` for an id that is unknown, too old, or another session's.
    func outcome(_ id: String, for holder: SessionAndUser) async throws(SignInError) -> Outcome {
        let found = try await mappingStoreErrors(
            await store.phoneVerification(
                TokenHash(sha256Of: id), in: holder.session.id, at: environment.clock.now()))
        guard let found else { throw .noSuchVerification }
        return Outcome(id: id, state: found, correlationID: nil)
    }

    private func ask(
        _ question: Question, _ operatorToken: Secret, _ holder: SessionAndUser,
        _ findings: inout PhoneVerificationFindings
    ) async throws(SignInError) -> (id: String, PhoneVerification) {
        let correlationID = findings.correlationID
        let inquiry = try await inquiry(question, of: holder.user, correlationID)
        findings.operatorName = inquiry.mobileOperator.name
        let request = SignInRequest(
            provider: inquiry.target.reference, clientID: inquiry.client.id, code: operatorToken, standsInForCode: true,
            correlationID: correlationID)
        let run = try SignInRun(request, correlationID, in: environment)
        findings.run = run
        findings.number = inquiry.number?.text
        let provider = try await run.discoverProvider()
        let operators = inquiry.operators
        try await operators.oneTimeStore.spend(operators.use(of: request))
        let id = environment.random.token()
        let subject = inquiry.verification(id, of: holder, expiresAt: environment.clock.now())
        // After the token, because one that is sent again never comes to the operator.
        let directory = OperatorDirectory(operators: operators, environment: environment)
        try await directory.count(subject)
        let verification = try await directory.outcome(of: subject, run, at: provider, findings)
        run.begin(.store)
        // Also if the store fails, because the change may have been stored before the failure.
        defer { sessions.cache.remove(holder.user.id) }
        let formerHolders = try await mappingStoreErrors(
            await store.addPhoneVerification(verification, by: provider.issuer, requestID: correlationID.text))
        guard let formerHolders else { throw .sessionUnknown }
        for formerHolder in formerHolders { sessions.cache.remove(formerHolder) }
        return (id, verification)
    }
}

/// Whom to ask.
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
        guard let operators = provider.mobileOperators else { throw .noOperatorTokens }
        let target = try await OperatorDirectory(operators: operators, environment: environment).choose(
            choice, .phoneVerification, correlationID)
        guard let client = target.server.client(nil) else { throw .internalFault }
        return Inquiry(
            number: number, target: target, operators: operators,
            mobileOperator: try operators.mobileOperator(of: target), client: client)
    }

    private func provider(_ name: String?) throws(SignInError) -> Provider {
        if let name { return try environment.providers.find(name) }
        let candidates = environment.providers.all.filter { $0.mobileOperators != nil }
        guard let only = candidates.first, candidates.count == 1 else {
            throw candidates.isEmpty ? .unknownProvider(in: environment.providers) : .providerOfNumbersNotNamed
        }
        return only
    }

    /// Counts the verification for its user, unless those of its number are used up. Before the operator is known:
    /// Telco Finder is asked for no more numbers than a user may verify.
    private func admit(_ number: MSISDN?, of user: UserID) async throws(SignInError) {
        let now = environment.clock.now()
        let ofUser = AllowanceUse(of: "phone verification of user \(user.number)", AllowanceUse.ofVerifications)
        var wait = try await mappingStoreErrors(
            await store.wait(for: AllowanceUse.ofVerification(of: number, by: user), at: now))
        if wait == nil {
            wait = try await mappingStoreErrors(await store.count([ofUser], at: now))
        }
        if let wait { throw .tooManyVerifications(wait) }
    }
}

extension AllowanceUse {
    /// The limit on verifications: on those that one user begins, and on those of one number that the operator is asked
    /// about, counted over all users. Without it, a session could try numbers until the operator confirms one.
    static let ofVerifications = SharedAllowance(count: 10, seconds: 3600)

    /// What a verification uses of the allowance of its number. One user may use half, so the owner of the number keeps
    /// the other half.
    static func ofVerification(of number: MSISDN?, by user: UserID) -> [AllowanceUse] {
        guard let number else { return [] }
        let ofNumber = "phone verification of number \(number.text)"
        return [
            AllowanceUse(of: ofNumber, ofVerifications),
            AllowanceUse(of: "\(ofNumber) by user \(user.number)", ofVerifications.half),
        ]
    }
}
