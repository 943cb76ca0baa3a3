package import OpenIDConnect
import Primitives
package import SignIn

/// Firebase Phone Number Verification, of one project: Google's library on Android gets a token for the number of the
/// SIM, and the app brings it. The token is an ID token of this server's own audience, whose subject is the number.
package struct FirebaseNumbers: ProofGroup {
    /// The provider's name in paths.
    let provider: String
    package let server: AuthorizationServer
    let signIns: NumberSignIns

    package var kind: ProviderKind { .firebasePNV }
    var proofNeeded: SignInError { .tokenOfFirebaseNeeded }
    var oneTimeStore: EncryptedOneTimeStore { signIns.oneTimeStore }

    package func check(_ request: SignInRequest) throws(SignInError) {
        guard request.standsInForCode else { throw proofNeeded }
        try server.client(nil)?.rules.native.check(request)
    }

    package func verifyUser(
        of run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> VerifiedSignIn {
        let (number, use) = try await proof(of: run, at: provider)
        let admitted = try await signIns.admit(number, from: provider.issuer, in: run)
        return try await signIns.user(of: admitted, in: run, use)
    }

    /// The number of a token, and what marks the token as used. Nothing is stored.
    /// - Throws: `invalid_id_token` with the check that failed; what a request for the keys throws.
    func proof(
        of run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> (number: MSISDN, use: TokenUse) {
        let (token, number) = try await mappingErrors(awaiting: await verified(run, provider)) { (error: OIDCError) in
            // Firebase is not asked, so the token can be sent again.
            altered(SignInError(error)) { $0.codeMayBeSpent = false }
        }
        return (number, try oneTimeStore.use(of: token, in: run, orThrow: .tokenOfFirebaseUsed))
    }

    private func verified(
        _ run: SignInRun, _ provider: ProviderMetadata
    ) async throws(OIDCError) -> (VerifiedIDToken, MSISDN) {
        let expectation = run.expectation(nonce: run.request.nonce, accessToken: nil)
        let token = try await run.validateCode(expectation, from: provider)
        guard let number = MSISDN(token.subject) else { throw .failed(.subject) }
        return (token, number)
    }
}

extension Provider {
    /// Nil for a provider of another kind.
    var firebaseNumbers: FirebaseNumbers? { group as? FirebaseNumbers }
}

/// A provider to which apps bring proofs of numbers: no browser is sent away.
protocol ProofGroup: ServerGroup {
    var server: AuthorizationServer { get }
    /// The error of a request that brings something else.
    var proofNeeded: SignInError { get }
}

extension ProofGroup {
    package var servers: [String: AuthorizationServer] { ["": server] }
    package var otherParties: [String: RelyingParty] { [:] }
    package var taskFlow: FailedOperation.Flow { .phoneVerification }

    package func check(_ request: SignInRequest) throws(SignInError) {
        guard request.standsInForCode else { throw proofNeeded }
    }

    package func choose(
        for start: inout RedirectStart, _ correlationID: CorrelationID, in environment: Environment
    ) async throws(SignInError) -> SignInTarget { throw proofNeeded }

    package func refusal(atAuthorization code: String) -> SignInError { proofNeeded }
    package func refusal(ofPushedRequest error: OIDCError) -> SignInError { proofNeeded }
    package func parameters(ofTask id: Secret) -> [(name: String, value: String)] { [] }

    package func finish(
        task id: Secret, with request: Result<SignInRequest, SignInError>, _ correlationID: CorrelationID,
        in environment: Environment
    ) async throws(SignInError) -> [(name: String, value: String)] { throw proofNeeded }

    package func log(_ error: SignInError, ofTask correlationID: CorrelationID, in environment: Environment) {}
}
