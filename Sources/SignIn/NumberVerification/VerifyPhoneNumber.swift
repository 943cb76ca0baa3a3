import Logging
package import OpenIDConnect
package import Primitives
package import StorageModel

/// Asks a mobile operator whether a number is that of a signed-in user's device.
///
/// A mismatch never changes the account. The outcome is for the session that asked, and each operator token is for one
/// call.
package struct VerifyPhoneNumber: Sendable {
    /// What a session asks.
    package struct Question: Sendable {
        /// `+` and digits; nil for the number of the profile.
        package var phoneNumber: String?
        /// The provider's name in paths; nil for the only one with mobile operators.
        package var provider: String?
        package var choice: OperatorChoice
        /// The TS.43 temporary token of the device.
        package let operatorToken: Secret
        package var correlationID: CorrelationID?

        package init(operatorToken: Secret, choice: OperatorChoice) {
            self.operatorToken = operatorToken
            self.choice = choice
        }
    }

    /// The outcome, and the id to read it again.
    package struct Outcome: Sendable {
        package let id: String
        package let verification: PhoneVerification
        package let correlationID: CorrelationID?
    }

    /// How many verifications a user may ask for, and how many there may be of one number, of whichever users: so that
    /// nobody can try numbers out.
    static let allowance = SharedAllowance(count: 10, seconds: 3600)

    let configuration: SignInConfiguration
    let relyingParties: [String: RelyingParty]
    let store: any PhoneVerificationStore
    let oneTimeStore: EncryptedOneTimeStore
    let cache: SessionCache
    let pause: SignInAttempt.Pause
    let clock: WallClock
    let random: RandomSource
    let logger: Logger

    /// - Throws: `invalid_request` for a number that is none, or a provider that is not clear; `operator_unknown`;
    ///   `invalid_grant` for a token that was used; `rate_limited`; `invalid_token` if the session has ended meanwhile;
    ///   `carrier_error` and the like if the operator cannot be asked. What the operator refuses is an outcome.
    package func callAsFunction(
        _ question: Question, for holder: SessionAndUser
    ) async throws(SignInError) -> Outcome {
        let correlationID = question.correlationID ?? .random(from: random)
        do throws(SignInError) {
            let outcome = try await ask(question, holder, correlationID)
            log(outcome.verification.error ?? outcome.verification.status.rawValue, .info, correlationID)
            return outcome
        } catch {
            log(error.codeText, error.fault.logLevel, correlationID)
            throw error.with(correlationID)
        }
    }

    /// An outcome, for the session that asked.
    /// - Throws: `not_found` for an id that is unknown, too old, or another session's.
    package func outcome(_ id: String, for holder: SessionAndUser) async throws(SignInError) -> Outcome {
        let found = try await stored(
            await store.phoneVerification(TokenHash(sha256Of: id), in: holder.session.id, at: clock.now()))
        guard let found, found.user == holder.user.id else { throw .noSuchVerification }
        return Outcome(id: id, verification: found, correlationID: nil)
    }

    private func ask(
        _ question: Question, _ holder: SessionAndUser, _ correlationID: CorrelationID
    ) async throws(SignInError) -> Outcome {
        guard let number = (question.phoneNumber ?? holder.user.profile[.phoneNumber]).flatMap(MSISDN.init) else {
            throw question.phoneNumber == nil ? .noNumberInProfile : .numberMalformed
        }
        let key = try configuration.key(ofProvider: try provider(question.provider), for: question.choice)
        guard let mobileOperator = configuration.providers[key]?.mobileOperator,
            let client = configuration.providers[key]?.client(nil)
        else { throw .noOperatorTokens }
        var request = SignInRequest(operatorToken: question.operatorToken, provider: key, clientID: client.id)
        request.correlationID = correlationID
        let attempt = try SignInAttempt(request, correlationID, configuration, relyingParties, pause: pause)
        try await admit(number, of: holder.user.id)
        let provider = try await attempt.discoverProvider()
        try await spend(question.operatorToken, at: key)
        let id = random.token()
        var verification = PhoneVerification(
            id: TokenHash(sha256Of: id), user: holder.user.id, session: holder.session.id, phoneNumber: number.text,
            operatorName: mobileOperator.name, status: .failed, simSwapped: nil, error: nil, checkedAt: clock.now())
        do throws(SignInError) {
            let (matches, sim) = try await matches(number, attempt, mobileOperator, provider)
            verification = verification.ended(
                matches ? .verified : .mismatch, simSwapped: sim == .unknown ? nil : sim.map { $0 == .swapped })
        } catch {
            // The operator has refused. Where it has not responded as it should, nothing is known.
            guard error.fault == .client else { throw error }
            verification = verification.ended(
                .failed, simSwapped: error.code == .simSwapped ? true : nil, error: error.codeText)
        }
        // Also if the store fails, because the change may have been stored before the failure.
        defer { cache.remove(holder.user.id) }
        let formerHolders = try await stored(
            await store.addPhoneVerification(verification, by: provider.issuer, requestID: correlationID.text))
        guard let formerHolders else { throw .sessionUnknown }
        for formerHolder in formerHolders { cache.remove(formerHolder) }
        return Outcome(id: id, verification: verification, correlationID: correlationID)
    }

    private func provider(_ name: String?) throws(SignInError) -> String {
        if let name {
            guard configuration.hasProvider(inPaths: name) else { throw .unknownProvider }
            return name
        }
        let names = Set(configuration.providers.values.compactMap(\.mobileOperator?.provider))
        guard let only = names.first, names.count == 1 else {
            throw names.isEmpty ? .unknownProvider : .providerOfNumbersNotNamed
        }
        return only
    }

    /// Counts the verification for its user and its number.
    private func admit(_ number: MSISDN, of user: UserID) async throws(SignInError) {
        let keys = ["user \(user.number)", "number \(number.text)"].map {
            TokenHash(sha256Of: "phone verification of \($0)")
        }
        let wait = try await stored(
            await store.countPhoneVerification(for: keys, within: Self.allowance, at: clock.now()))
        if let wait { throw .tooManyVerifications(wait) }
    }

    /// An operator token is used once, by whichever session.
    private func spend(_ token: Secret, at key: String) async throws(SignInError) {
        let isFirst = try await oneTimeStore.begin(
            TokenHash(sha256Of: "operator token of \(key)\n\(token.exposed)"), for: .answeredCode,
            seconds: RedirectSignIn.lifetime, insteadOf: [])
        guard isFirst else { throw .operatorTokenUsed }
    }

    /// Whether the operator says that the number is the device's, and what it says of the SIM if it is.
    private func matches(
        _ number: MSISDN, _ attempt: SignInAttempt, _ mobileOperator: SignInConfiguration.MobileOperator,
        _ provider: ProviderMetadata
    ) async throws(SignInError) -> (Bool, SIMSwapFinding?) {
        let tokens = try await attempt.exchangeOperatorToken(for: mobileOperator.verificationScopes, at: provider)
        if tokens.idToken != nil { _ = try await attempt.validate(tokens, from: provider) { _ in } }
        let matches = try await asked(
            await attempt.relyingParty.isDevicePhoneNumber(
                number, hashed: mobileOperator.takesHashes, at: mobileOperator.apis, with: tokens, provider: provider,
                correlationID: attempt.correlationID), codeWasPosted: true)
        guard matches else { return (false, nil) }
        return (true, try await attempt.checkSIM(of: number, by: mobileOperator, at: provider))
    }

    private func log(_ outcome: String, _ level: Logger.Level, _ correlationID: CorrelationID) {
        logger.log(
            level: level, "phone verification",
            metadata: ["correlation_id": "\(correlationID)", "outcome": "\(outcome)"])
    }
}

extension PhoneVerification {
    fileprivate func ended(_ status: Status, simSwapped: Bool?, error: String? = nil) -> PhoneVerification {
        PhoneVerification(
            id: id, user: user, session: session, phoneNumber: phoneNumber, operatorName: operatorName, status: status,
            simSwapped: simSwapped, error: error, checkedAt: checkedAt)
    }
}
