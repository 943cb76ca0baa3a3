import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// Asks a mobile operator whether a number belongs to a signed-in user's device, or reads it in a token of Firebase.
///
/// The device is authenticated by an operator token, or over the mobile network by redirects. A mismatch never changes
/// the account. The outcome is for the session that asked, and each token is for one call.
struct VerifyPhoneNumber {
    /// What a session asks.
    struct Question: Sendable {
        /// How the device is authenticated.
        enum Means: Sendable {
            case token(Token)
            /// Over the mobile network, by a browser that ends at this redirect URI.
            case redirect(to: String)
            /// By a digital credential.
            case credential(CredentialStart)
        }

        /// By the SIM, over any network.
        enum Token: Sendable {
            /// The TS.43 temporary token of a mobile operator.
            case ofOperator(Secret)
            /// The token of Firebase Phone Number Verification, with the nonce that it must have.
            case ofFirebase(Secret, nonce: Secret?)
        }

        let means: Means
        /// `+` and digits. Nil for the number of the profile; where it has none, the operator tells the number.
        let phoneNumber: String?
        /// The provider's name in paths; nil for the only one of the kind.
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
        let verification: PhoneVerification
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
            _ id: String, of holder: SessionAndUser, until end: Timestamp
        ) -> PhoneVerification {
            PhoneVerification(
                id: TokenHash(sha256Of: id), user: holder.user.id, session: holder.session.id,
                phoneNumber: number?.text, operatorName: mobileOperator.name, time: end)
        }
    }

    let api: LatchkeyAPI
    let store: SQLStore
    let outcomes: PhoneVerificationOutcomes

    var environment: Environment { api.useCases.environment }
    var sessions: Sessions { api.useCases.sessions }

    /// Verifies with a token of the device.
    /// - Throws: `invalid_request` for a number that is none, or a provider that is not clear; `unauthorized_client`;
    ///   `operator_unknown`; `invalid_grant` for a token that was used; `invalid_id_token` for one that Firebase did
    ///   not issue for this server; `rate_limited`; `invalid_token` if the session has ended meanwhile; `carrier_error`
    ///   and the like if the operator cannot be asked. What the operator refuses is an outcome.
    func callAsFunction(
        _ question: Question, with token: Question.Token, for holder: SessionAndUser
    ) async throws(SignInError) -> Outcome {
        let correlationID = question.correlationID ?? .random(from: environment.random)
        var findings = PhoneVerificationFindings(correlationID: correlationID)
        return try await environment.failures.recording(as: correlationID) { () async throws(SignInError) in
            let (id, verification) = try await verify(question, token, holder, &findings)
            outcomes.note(verification, findings, in: environment.logger)
            return Outcome(id: id, verification: verification, correlationID: correlationID)
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
        return Outcome(id: id, verification: found, correlationID: nil)
    }

    private func verify(
        _ question: Question, _ token: Question.Token, _ holder: SessionAndUser,
        _ findings: inout PhoneVerificationFindings
    ) async throws(SignInError) -> (id: String, PhoneVerification) {
        let id = environment.random.token()
        let (verification, issuer) =
            switch token {
            case .ofOperator(let token): try await ask(question, token, id, holder, &findings)
            case .ofFirebase(let token, let nonce): try await read(question, token, nonce, id, holder, &findings)
            }
        return (id, try await keep(verification, by: issuer, findings, holder))
    }

    /// Stores an outcome.
    /// - Returns: The same.
    func keep(
        _ verification: PhoneVerification, by issuer: String, _ findings: PhoneVerificationFindings,
        _ holder: SessionAndUser
    ) async throws(SignInError) -> PhoneVerification {
        findings.run?.begin(.store)
        // Also if the store fails, because the change may have been stored before the failure.
        defer { sessions.cache.remove(holder.user.id) }
        let formerHolders = try await mappingStoreErrors(
            await store.addPhoneVerification(verification, by: issuer, requestID: findings.correlationID.text))
        guard let formerHolders else { throw .sessionUnknown }
        for formerHolder in formerHolders { sessions.cache.remove(formerHolder) }
        return verification
    }

    /// Asks the operator of a TS.43 temporary token.
    private func ask(
        _ question: Question, _ operatorToken: Secret, _ id: String, _ holder: SessionAndUser,
        _ findings: inout PhoneVerificationFindings
    ) async throws(SignInError) -> (PhoneVerification, issuer: String) {
        let correlationID = findings.correlationID
        let inquiry = try await inquiry(question, of: holder.user, correlationID)
        findings.operatorName = inquiry.mobileOperator.name
        let request = SignInRequest(
            provider: inquiry.target.reference, clientID: inquiry.client.id, code: operatorToken,
            verifiedBy: inquiry.operators, correlationID: correlationID)
        let run = try SignInRun(request, correlationID, in: environment)
        findings.run = run
        findings.number = inquiry.number?.text
        let provider = try await run.discoverProvider()
        let operators = inquiry.operators
        try await operators.oneTimeStore.spend(operators.use(of: request))
        let subject = inquiry.verification(id, of: holder, until: environment.clock.now())
        // After the token, because one that is sent again never comes to the operator.
        let directory = OperatorDirectory(operators: operators, environment: environment)
        try await directory.count(subject)
        return (try await directory.outcome(of: subject, run, at: provider, findings), provider.issuer)
    }

    /// Reads the number in a token of Firebase.
    private func read(
        _ question: Question, _ token: Secret, _ nonce: Secret?, _ id: String, _ holder: SessionAndUser,
        _ findings: inout PhoneVerificationFindings
    ) async throws(SignInError) -> (PhoneVerification, issuer: String) {
        // Nobody can try numbers: the token has the only one.
        let (choice, provider) = try await admit(question, of: holder.user, countsNumber: false) {
            $0.firebaseNumbers != nil
        }
        let asked = choice.number
        guard let firebase = provider.firebaseNumbers, let client = firebase.server.client(nil) else {
            throw .noTokensOfFirebase
        }
        findings.operatorName = provider.name
        findings.number = asked?.text
        let request = SignInRequest(
            provider: ProviderReference(provider: provider.name), clientID: client.id, code: token,
            verifiedBy: firebase, nonce: nonce, correlationID: findings.correlationID)
        let run = try SignInRun(request, findings.correlationID, in: environment)
        findings.run = run
        let metadata = try await run.discoverProvider()
        let (number, use) = try await firebase.proof(of: run, at: metadata)
        try await firebase.oneTimeStore.spend(use)
        let now = environment.clock.now()
        let isSame = asked == nil || asked == number
        let verification = PhoneVerification(
            id: TokenHash(sha256Of: id), user: holder.user.id, session: holder.session.id,
            phoneNumber: (asked ?? number).text, operatorName: provider.name, status: isSame ? .verified : .mismatch,
            time: now)
        return (verification, metadata.issuer)
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
        let (choice, provider) = try await admit(question, of: user) { $0.mobileOperators != nil }
        guard let operators = provider.mobileOperators else { throw .noOperatorTokens }
        let target = try await OperatorDirectory(operators: operators, environment: environment).choose(
            choice, .phoneVerification, correlationID)
        guard let client = target.server.client(nil) else { throw .internalFault }
        return Inquiry(
            number: choice.number, target: target, operators: operators,
            mobileOperator: try operators.mobileOperator(of: target), client: client)
    }

    /// How a question chooses its operator, and its provider. It is counted for its user.
    /// - Parameters:
    ///   - countsNumber: Whether it is refused if the number's allowance is used up.
    ///   - isCandidate: Whether a question that names no provider can be for this one.
    /// - Returns: Without a number if the question names none, and the profile has none.
    /// - Throws: As ``inquiry(_:of:_:)``, except for failures of Telco Finder.
    func admit(
        _ question: Question, of user: User, countsNumber: Bool = true, at isCandidate: (Provider) -> Bool
    ) async throws(SignInError) -> (OperatorChoice, Provider) {
        let number = (question.phoneNumber ?? user.profile[.phoneNumber]).flatMap(MSISDN.init)
        guard number != nil || question.phoneNumber == nil else { throw .numberMalformed }
        let provider = try provider(question.provider, ifUnnamed: isCandidate)
        var choice = question.choice
        (choice.number, choice.caller) = (number, choice.caller.of(user.id))
        try choice.caller.check(mayUseOneOf: provider.allClients)
        try await admit(countsNumber ? number : nil, of: user.id)
        return (choice, provider)
    }

    private func provider(
        _ name: String?, ifUnnamed isCandidate: (Provider) -> Bool
    ) throws(SignInError) -> Provider {
        if let name { return try environment.providers.find(name) }
        let candidates = environment.providers.all.filter(isCandidate)
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

/// Verifications by redirects: a browser on the user's device is sent to the operator, and comes back.
///
/// Anybody can be made to open the address that a session got. Their operator then confirms their number, without a
/// page. So what a browser brings back changes no account. It is kept, and the app on the browser's device gets a
/// confirmation, which only the session that asked can redeem.
extension VerifyPhoneNumber {
    /// Ends a verification with what the browser brought back, if the session shows that it was its own browser.
    /// - Throws: `not_found` for an id that the session does not have; `invalid_grant` for a wrong confirmation, the
    ///   third of which ends the verification, and for a verification that has ended; `temporarily_unavailable`.
    func confirm(
        _ id: String, with confirmation: Secret, correlationID: CorrelationID?, for holder: SessionAndUser
    ) async throws(SignInError) -> Outcome {
        let correlationID = correlationID ?? .random(from: environment.random)
        return try await environment.failures.recording(as: correlationID) { () async throws(SignInError) in
            // Also if the store fails, because the change may have been stored before the failure.
            defer { sessions.cache.remove(holder.user.id) }
            let (verification, formerHolders) = try await mappingStoreErrors(
                await store.confirmPhoneVerification(
                    TokenHash(sha256Of: id), of: holder.user.id, in: holder.session.id,
                    with: TokenHash(sha256Of: confirmation.exposed), at: environment.clock.now(),
                    requestID: correlationID.text)
            ).get()
            for formerHolder in formerHolders { sessions.cache.remove(formerHolder) }
            outcomes.noteConfirmed(verification, correlationID, in: environment.logger)
            return Outcome(id: id, verification: verification, correlationID: correlationID)
        } failed: { error in
            outcomes.note(error, PhoneVerificationFindings(correlationID: correlationID), in: environment.logger)
            return nil
        }
    }

    /// Begins to verify a number by redirects. Any browser may come back: that of the user's device has no cookies of
    /// this server.
    /// - Parameters:
    ///   - redirectURI: One of the client's registered ones, where the app gets the confirmation.
    ///   - publicURL: This server's own.
    /// - Returns: The id of the verification, and where the app sends a browser on the device, over the mobile network,
    ///   within so many seconds.
    /// - Throws: As ``VerifyPhoneNumber``; `invalid_request` for a redirect URI that is not registered.
    func startVerification(
        _ question: VerifyPhoneNumber.Question, redirectURI: String, publicURL: String, for holder: SessionAndUser
    ) async throws(SignInError) -> (id: String, url: String, withinSeconds: Int64, CorrelationID) {
        let correlationID = question.correlationID ?? .random(from: environment.random)
        return try await environment.failures.recording(as: correlationID, question.sentNames) {
            () async throws(SignInError) in
            guard let redirects = api.redirects else { throw .numbersNotByRedirects }
            let inquiry = try await inquiry(question, of: holder.user, correlationID)
            guard inquiry.client.mayReceiveBrowsers(at: redirectURI) else {
                throw .redirectURINotRegistered(redirectURI, among: inquiry.client.rules.redirectURIs)
            }
            let id = Secret(environment.random.token())
            var start = RedirectStart(
                provider: inquiry.target.reference, clientType: .ios, redirectURI: redirectURI,
                callbackURL: "\(publicURL)/auth/\(inquiry.target.provider.name)/callback")
            start.demand.scopes = inquiry.mobileOperator.scopes(toVerify: inquiry.number)
            start.demand.prompt = [.noInteraction]
            start.caller = question.choice.caller
            // First, so that a browser that is sent away finds it when it comes back.
            let subject = inquiry.verification(
                id.exposed, of: holder, until: environment.clock.now().advanced(bySeconds: redirects.lifetime))
            guard try await mappingStoreErrors(await store.beginPhoneVerification(subject)) else {
                throw .sessionUnknown
            }
            let (url, seconds) = try await redirects.begin(
                task: id, start, at: inquiry.target, for: inquiry.client, correlationID)
            return (id.exposed, url, seconds, correlationID)
        } failed: { error in
            environment.logStart(error, at: question.provider, correlationID)
            return nil
        }
    }
}
