import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import Synchronization

/// Confirms a signed-in user's approval of a transaction at the provider (step-up), and issues a receipt.
///
/// The app asked the provider for a code with the transaction's text as `context`; the provider showed it and
/// authenticated the user again. The ID token must name the signed-in user, that context, one of the requested
/// authentication contexts, and a recent authentication. A refusal does not affect the session.
struct AuthorizeTransaction: Sendable {
    let feature: TransactionsFeature
    let useCases: UseCases

    private var environment: Environment { useCases.environment }
    private var onceOnly: OnceOnly { feature.onceOnly }

    /// - Parameters:
    ///   - request: With a context and `acr_values`.
    ///   - token: The token of the user's session.
    ///   - session: The session of the token.
    /// - Returns: The receipt, also as a JWT for the administrator's services, which is good once.
    /// - Throws: As a sign-in with a code; `invalid_id_token` if the ID token has another user, context or level of
    ///   assurance, or an authentication that is too old.
    func callAsFunction(
        _ request: SignInRequest, token: Secret, session: SessionAndUser
    ) async throws(SignInError) -> (receipt: Receipt, signed: Secret, CorrelationID) {
        try await environment.perform(request, as: .transaction) { (run) async throws(SignInError) in
            guard let context = request.demand.context, !request.demand.acrValues.isEmpty else {
                throw .transactionIncomplete
            }
            // First, because without a key the code would be spent in vain.
            let key = try await useCases.signingKeys.signer()
            let provider = try await run.discoverProvider()
            let idToken = try await verify(run, at: provider)
            run.begin(.store)
            let receipt = try await record(
                idToken, context: context, run.request, tokenEndpoint: provider.tokenEndpoint, token, session)
            return ((receipt, try receipt.signed(by: key), run.correlationID), .authorized)
        }
    }

    private func verify(
        _ run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> VerifiedIDToken {
        if run.usesIssuedNonce {
            run.begin(.attempt)
            try await takeNonce(of: run.request)
        }
        let tokens = try await exchangeCode(run, at: provider)
        return try await run.validate(tokens, from: provider, maximumAge: feature.settings.maximumAuthenticationAge)
    }

    /// Once for each code, so that the same request can be retried if the code did not reach the provider.
    private func takeNonce(of request: SignInRequest) async throws(SignInError) {
        let deed = TokenHash(sha256Of: "\(Self.name(ofCodeIn: request))\n\(request.nonce?.exposed ?? "")")
        guard onceOnly.begin(deed) else { return }
        do throws(SignInError) {
            try await feature.store.takeIssuedNonce(of: request, at: environment.clock.now())
        } catch {
            onceOnly.undo(deed)
            throw error
        }
    }

    private func exchangeCode(
        _ run: SignInRun, at provider: ProviderMetadata
    ) async throws(SignInError) -> TokenResponse {
        run.begin(.token)
        let code = TokenHash(sha256Of: Self.name(ofCodeIn: run.request))
        guard onceOnly.begin(code) else { throw .codeUsed }
        do throws(SignInError) {
            return try await run.exchangeCode(at: provider)
        } catch {
            if !error.codeMayBeSpent { onceOnly.undo(code) }
            throw error
        }
    }

    /// Checks that the session's user approved, and records the receipt, in one step of the store.
    private func record(
        _ idToken: VerifiedIDToken, context: String, _ request: SignInRequest, tokenEndpoint: EndpointURL,
        _ token: Secret, _ session: SessionAndUser
    ) async throws(SignInError) -> Receipt {
        guard let acr = idToken.acr, let authTime = idToken.authTime else { throw .internalFault }
        let now = environment.clock.now()
        let receipt = Receipt(
            id: environment.random.token(bytes: 16), issuer: feature.issuer, subject: session.user.publicID,
            clientID: request.clientID, context: context, acr: acr, authTime: authTime, issuedAt: now,
            expiresAt: now.advanced(bySeconds: feature.settings.receiptLifetime))
        let record = ReceiptRecord(
            id: TokenHash(sha256Of: receipt.id),
            code: TokenHash(sha256Of: Self.name(ofCodeIn: request)),
            expiresAt: receipt.expiresAt)
        let identity = Identity(issuer: idToken.issuer, subject: idToken.subject)
        let hash = TokenHash(ofSessionToken: token.exposed)
        let refusal: SignInError?
        do throws(StorageError) {
            refusal = try await feature.store.addReceipt(record, approvedBy: identity, session: hash, at: now)
        } catch {
            throw .receiptNotRecorded(error)
        }
        // The ID token of another user came from the token endpoint.
        if let refusal { throw refusal.check == nil ? refusal : refusal.at(tokenEndpoint) }
        return receipt
    }

    /// Identifies a code of a provider: provider names and network digits have no space, and a code has no line break.
    private static func name(ofCodeIn request: SignInRequest) -> String {
        "\(request.provider.text) \(request.network?.text ?? "") \(request.code.exposed)"
    }
}

/// What this process did lately and must not repeat: posting the code of a transaction, taking its nonce.
///
/// The provider refuses a used code, too, and the store records no second receipt for it. But on a second request, the
/// provider may revoke the tokens of the first (RFC 6749 section 4.1.2).
final class OnceOnly: Sendable {
    private let done = Mutex(BoundedCache<TokenHash, Bool>(capacity: 16_384))

    /// Records that an action begins; false if it began before.
    func begin(_ action: TokenHash) -> Bool {
        done.withLock { done in
            guard done[action] == nil else { return false }
            done.put(true, for: action)
            return true
        }
    }

    /// Notes that something was not done after all.
    func undo(_ deed: TokenHash) { done.withLock { _ = $0.remove(deed) } }
}

extension SignInError {
    fileprivate static let transactionIncomplete = SignInError(
        .invalidRequest, .invalidRequest, "context or acr_values is missing. Send both as in the authorization request."
    )

    static let codeUsed = SignInError(
        .refusedByProvider, .requestDenied, "The code was used before. Ask the user again, and send the new code.",
        providerCode: "invalid_grant", codeMayBeSpent: true)

    /// The user has approved by then, and the code is spent.
    fileprivate static func receiptNotRecorded(_ failure: StorageError) -> SignInError {
        var error = SignInError(
            .temporarilyUnavailable, .serverError,
            "The server cannot use its database, and the code is spent. Ask the user again in a moment.", retryAfter: 5,
            fault: .ours, codeMayBeSpent: true)
        error.cause = failure.reason
        return error
    }
}
