package import OpenIDConnect
package import Primitives
package import StorageModel
import Synchronization

/// Confirms a signed-in user's approval of a transaction at the carrier (step-up), and issues a receipt.
///
/// The app asked the carrier for a code with the transaction's text as `context`; the carrier showed it and
/// authenticated the user again. The ID token must name the signed-in user, that context, one of the requested
/// authentication contexts, and a recent authentication. A refusal does not affect the session.
package struct AuthorizeTransaction: UseCase {
    let environment: Environment
    let configuration: SignInConfiguration.Transactions
    let store: any NonceStore & ReceiptStore
    let keys: SigningKeys
    let onceOnly: OnceOnly

    /// - Parameters:
    ///   - request: With a context and `acr_values`.
    ///   - token: The token of the user's session.
    ///   - session: The session of the token.
    /// - Throws: As ``SignInWithCode``; `invalid_id_token` if the ID token has another user, context or level of
    ///   assurance, or an authentication that is too old.
    package func callAsFunction(
        _ request: SignInRequest, token: Secret, session: SessionAndUser
    ) async throws(SignInError) -> AuthorizedTransaction {
        try await run(request, as: .transaction) { (run) async throws(SignInError) in
            guard let context = request.demand.context, !request.demand.acrValues.isEmpty else {
                throw .transactionIncomplete
            }
            // First, because without a key the code would be spent in vain.
            let key = try await keys.signer()
            let idToken = try await verify(run)
            run.begin(.store)
            let receipt = try await record(idToken, context: context, run, token, session)
            let transaction = AuthorizedTransaction(
                receipt: receipt, signedReceipt: try receipt.signed(by: key),
                expiresIn: configuration.receiptLifetime, correlationID: run.correlationID)
            return (transaction, .authorized)
        }
    }

    private func verify(_ run: SignInRun) async throws(SignInError) -> VerifiedIDToken {
        let carrier = try await run.discoverProvider()
        if run.client.nonce == .issued {
            run.begin(.attempt)
            try await takeNonce(of: run.request)
        }
        let tokens = try await exchangeCode(run, at: carrier)
        return try await run.validate(tokens, from: carrier, maximumAge: configuration.maximumAuthenticationAge)
    }

    /// Once for each code, so that the same request can be retried if the code did not reach the carrier.
    private func takeNonce(of request: SignInRequest) async throws(SignInError) {
        let deed = TokenHash(sha256Of: "\(Self.name(ofCodeIn: request))\n\(request.nonce?.exposed ?? "")")
        guard onceOnly.begin(deed) else { return }
        do throws(SignInError) {
            try await store.takeIssuedNonce(of: request, at: clock.now())
        } catch {
            onceOnly.undo(deed)
            throw error
        }
    }

    private func exchangeCode(
        _ run: SignInRun, at carrier: ProviderMetadata
    ) async throws(SignInError) -> TokenResponse {
        run.begin(.token)
        let code = TokenHash(sha256Of: Self.name(ofCodeIn: run.request))
        guard onceOnly.begin(code) else { throw .codeUsed }
        do throws(SignInError) {
            return try await run.exchangeCode(at: carrier)
        } catch {
            if !error.codeMayBeSpent { onceOnly.undo(code) }
            throw error
        }
    }

    /// Checks that the session's user approved, and records the receipt, in one step of the store.
    private func record(
        _ idToken: VerifiedIDToken, context: String, _ run: SignInRun, _ token: Secret,
        _ session: SessionAndUser
    ) async throws(SignInError) -> Receipt {
        guard let acr = idToken.acr, let authTime = idToken.authTime else { throw .internalFault }
        let now = clock.now()
        let receipt = Receipt(
            id: random.token(bytes: 16), issuer: configuration.issuer, subject: session.user.publicID,
            clientID: run.client.id, context: context, acr: acr, authTime: authTime, issuedAt: now,
            expiresAt: now.advanced(bySeconds: configuration.receiptLifetime))
        let record = ReceiptRecord(
            id: TokenHash(sha256Of: receipt.id),
            code: TokenHash(sha256Of: Self.name(ofCodeIn: run.request)),
            expiresAt: receipt.expiresAt)
        let identity = Identity(issuer: idToken.issuer, subject: idToken.subject)
        let hash = TokenHash(ofSessionToken: token.exposed)
        let admission: ReceiptAdmission
        do throws(StorageError) {
            admission = try await store.addReceipt(record, approvedBy: identity, session: hash, at: now)
        } catch {
            throw .receiptNotRecorded
        }
        switch admission {
        case .recorded: return receipt
        case .unknownSession: throw .sessionUnknown
        case .otherUser:
            let carrier = run.relyingParty.knownProvider(for: run.request.network)
            throw SignInError(.failed(.sameUser), codeWasPosted: true).at(carrier?.tokenEndpoint)
        case .codeUsed: throw .codeUsed
        }
    }

    /// Identifies a code of a carrier: provider names and network digits have no space, and a code has no line break.
    private static func name(ofCodeIn request: SignInRequest) -> String {
        "\(request.provider.text) \(request.network?.text ?? "") \(request.code.exposed)"
    }
}

/// A transaction that the user approved at the carrier.
package struct AuthorizedTransaction: Sendable {
    package let receipt: Receipt
    /// The receipt as a signed JWT, for the operator's services; good once.
    package let signedReceipt: Secret
    /// Seconds until the receipt expires.
    package let expiresIn: Int64
    package let correlationID: CorrelationID
}

/// What this process did lately and must not repeat: posting the code of a transaction, taking its nonce.
///
/// The carrier refuses a used code, too, and the store records no second receipt for it. But on a second request, the
/// carrier may revoke the tokens of the first (RFC 6749 section 4.1.2).
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
