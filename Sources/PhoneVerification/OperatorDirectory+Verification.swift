import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// Verifications of a signed-in user's number: what the operator says.
extension OperatorDirectory {
    /// Counts a verification for its number, because the operator is about to be asked.
    /// - Throws: `rate_limited`, and then the operator must not be asked.
    func count(_ subject: PendingPhoneVerification) async throws(SignInError) {
        let uses = AllowanceUse.ofVerification(of: subject.phoneNumber.flatMap(MSISDN.init), by: subject.user)
        guard !uses.isEmpty else { return }
        let wait = try await mappingStoreErrors(await operators.store.count(uses, at: environment.clock.now()))
        if let wait { throw .tooManyVerifications(wait) }
    }

    /// What the operator says of a verification. What it refuses is an outcome.
    /// - Throws: If it does not respond as it should: nothing is known then.
    func outcome(
        of subject: PendingPhoneVerification, _ run: SignInRun, at provider: ProviderMetadata,
        _ findings: PhoneVerificationFindings
    ) async throws(SignInError) -> PhoneVerification {
        do throws(SignInError) {
            return try await answer(to: subject, run, at: provider)
        } catch {
            guard error.fault == .client else { throw error }
            await environment.failures.note(FailedOperation(findings), error)
            return subject.failed(
                error.codeText, simSwapped: error.code == .simSwapped ? true : nil, at: environment.clock.now())
        }
    }

    private func answer(
        to subject: PendingPhoneVerification, _ run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> PhoneVerification {
        let mobileOperator = try operators.mobileOperator(of: run.target)
        let asked = subject.phoneNumber.flatMap(MSISDN.init)
        let tokens = try await run.tokens(
            for: mobileOperator.scopes(toVerify: asked), at: provider, pausing: operators.pause)
        guard let found = try await run.number(asked, from: mobileOperator, with: tokens, at: provider, self)
        else { return subject.ended(.mismatch, phoneNumber: asked?.text, simSwapped: nil, at: environment.clock.now()) }
        return subject.ended(
            .verified, phoneNumber: found.number.text,
            simSwapped: found.sim == .unknown ? nil : found.sim.map { $0 == .swapped },
            at: environment.clock.now())
    }

    /// Keeps what a browser brought back: the operator's answer, or why there is none.
    /// - Parameter request: With the code, or what is wrong with the authorization response.
    /// - Returns: The confirmation, for the app on the browser's device.
    /// - Throws: `not_found` if the verification has ended, or its session; then the operator is not asked.
    func keepFinding(
        of id: Secret, _ request: Result<SignInRequest, SignInError>, _ correlationID: CorrelationID
    ) async throws(SignInError) -> Secret {
        let hash = TokenHash(sha256Of: id.exposed)
        let subject = try await mappingStoreErrors(
            await operators.store.pendingPhoneVerification(hash, at: environment.clock.now()))
        guard let subject else { throw .noSuchVerification }
        var findings = PhoneVerificationFindings(correlationID: correlationID, operatorName: subject.operatorName)
        let (outcome, issuer) = await finding(of: subject, request, &findings)
        let confirmation = Secret(environment.random.token())
        let now = environment.clock.now()
        let isKept = try await mappingStoreErrors(
            await operators.store.addPhoneVerificationFinding(
                outcome, by: issuer, confirmation: TokenHash(sha256Of: confirmation.exposed),
                until: now.advanced(bySeconds: PendingPhoneVerification.confirmationTime), at: now))
        guard isKept else { throw .noSuchVerification }
        operators.outcomes.note(outcome, findings, in: environment.logger)
        return confirmation
    }

    /// What the operator says, with its issuer. The state and the code are spent, so that any failure is final.
    private func finding(
        of subject: PendingPhoneVerification, _ request: Result<SignInRequest, SignInError>,
        _ findings: inout PhoneVerificationFindings
    ) async -> (PhoneVerification, issuer: String) {
        do throws(SignInError) {
            let run = try SignInRun(try request.get(), findings.correlationID, in: environment)
            findings.run = run
            findings.number = subject.phoneNumber
            let provider = try await run.discoverProvider()
            try await count(subject)
            return (try await outcome(of: subject, run, at: provider, findings), provider.issuer)
        } catch {
            if error.code != .rateLimited { await environment.failures.note(FailedOperation(findings), error) }
            if error.fault != .client {
                operators.outcomes.write(error.codeText, findings, error, in: environment.logger)
            }
            return (subject.failed(error.codeText, at: environment.clock.now()), "")
        }
    }
}
