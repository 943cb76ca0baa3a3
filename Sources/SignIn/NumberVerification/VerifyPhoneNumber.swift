import Logging
package import OpenIDConnect
package import Primitives
package import StorageModel

/// Asks a mobile operator whether a number is that of a signed-in user's device.
///
/// The device is authenticated by an operator token, or over the mobile network by redirects
/// (`VerifyPhoneNumber+Redirect.swift`). A mismatch never changes the account. The outcome is for the session that
/// asked, and each operator token and each access token is for one call.
package struct VerifyPhoneNumber: Sendable {
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

    /// What was found out beside the outcome, for the log, the metrics and the capsule of a failure.
    struct Findings {
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

    let providers: Providers
    let operators: OperatorDirectory
    let store: any PhoneVerificationStore
    let oneTimeStore: EncryptedOneTimeStore
    let cache: SessionCache
    let pause: PollPauses
    let clock: WallClock
    let random: RandomSource
    let logger: Logger
    let observer: PhoneVerificationObserver
    /// Keeps capsules of failures; nil if none are made.
    let capsules: CapsuleRecorder?

    /// Verifies with the TS.43 temporary token of the device.
    /// - Throws: `invalid_request` for a number that is none, or a provider that is not clear; `unauthorized_client`;
    ///   `operator_unknown`; `invalid_grant` for a token that was used; `rate_limited`; `invalid_token` if the session
    ///   has ended meanwhile; `carrier_error` and the like if the operator cannot be asked. What the operator refuses
    ///   is an outcome.
    package func callAsFunction(
        _ question: Question, with operatorToken: Secret, for holder: SessionAndUser
    ) async throws(SignInError) -> Outcome {
        let correlationID = question.correlationID ?? .random(from: random)
        var findings = Findings()
        return try await capsules.recording(as: correlationID) { () async throws(SignInError) in
            let (id, verification) = try await ask(question, operatorToken, holder, correlationID, &findings)
            log(verification, findings, correlationID)
            return Outcome(id: id, state: .ended(verification), correlationID: correlationID)
        } failed: { error in
            log(error, correlationID, findings)
            return error.code == .rateLimited ? nil : CapsuleSubject(findings)
        }
    }

    /// A verification, for the session that asked.
    /// - Throws: `not_found` for an id that is unknown, too old, or another session's.
    package func outcome(_ id: String, for holder: SessionAndUser) async throws(SignInError) -> Outcome {
        let found = try await stored(
            await store.phoneVerification(
                TokenHash(sha256Of: id), in: holder.session.id, expiredAs: SignInError.Code.expired.rawValue,
                at: clock.now()))
        guard let found else { throw .noSuchVerification }
        return Outcome(id: id, state: found, correlationID: nil)
    }

    private func ask(
        _ question: Question, _ operatorToken: Secret, _ holder: SessionAndUser, _ correlationID: CorrelationID,
        _ findings: inout Findings
    ) async throws(SignInError) -> (id: String, PhoneVerification) {
        let inquiry = try await inquiry(question, of: holder.user, correlationID)
        findings.operatorName = inquiry.mobileOperator.name
        var request = SignInRequest(
            operatorToken: operatorToken, provider: inquiry.target.reference, clientID: inquiry.client.id)
        request.correlationID = correlationID
        let run = try run(request, correlationID)
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
        let formerHolders = try await stored(
            await store.addPhoneVerification(verification, by: provider.issuer, requestID: correlationID.text))
        guard let formerHolders else { throw .sessionUnknown }
        for formerHolder in formerHolders { cache.remove(formerHolder) }
        return (id, verification)
    }
}
