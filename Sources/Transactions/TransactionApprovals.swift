import Logging
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
struct TransactionApprovals: Sendable {
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
    func authorize(
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
        let identity = Identity(issuer: idToken.issuer, subject: idToken.subject)
        let hash = try await useCases.sessions.hash(of: token)
        let refusal: SignInError?
        do throws(StorageError) {
            refusal = try await feature.store.addReceipt(
                TokenHash(sha256Of: receipt.id), of: TokenHash(sha256Of: Self.name(ofCodeIn: request)),
                until: receipt.expiresAt, approvedBy: identity, session: hash, at: now)
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

/// A receipt: who approved which transaction, when, and with which assurance.
struct Receipt: Sendable, Hashable {
    /// A random value, under which the receipt is spent.
    let id: String
    /// This server.
    let issuer: String
    /// The user's public id, not the provider's subject.
    let subject: String
    let clientID: ClientID
    let context: String
    let acr: String
    let authTime: Timestamp
    let issuedAt: Timestamp
    let expiresAt: Timestamp
}

/// The receipt as a signed JWT (RFC 7519, RFC 7515), with its own type so that it cannot pass for another token (RFC
/// 8725 section 3.11).
extension Receipt {
    /// The largest size of a receipt, in bytes.
    static let maximumBytes = 8192
    private static let type = "receipt+jwt"

    func signed(by key: SigningKey) throws(SignInError) -> Secret {
        var claims = JSONObjectWriter(capacity: 512)
        write(to: &claims)
        return try key.token(type: Self.type, naming: .keyID, claims: claims.finish())
    }

    func write(to json: inout JSONObjectWriter) {
        json.add("iss", issuer)
        json.add("sub", subject)
        json.add("aud", clientID.text)
        json.add("jti", id)
        json.add("iat", issuedAt.secondsSinceEpoch)
        json.add("exp", expiresAt.secondsSinceEpoch)
        json.add("context", context)
        json.add("acr", acr)
        json.add("auth_time", authTime.secondsSinceEpoch)
    }

    /// Reads a receipt that one of these keys signed; nil for anything else. Does not check its expiry or use.
    init?(_ text: Secret, signedByOneOf keys: [PublicSigningKey]) {
        guard let token = CompactToken(text, maximumBytes: Self.maximumBytes),
            let key = keys.first(where: { $0.id == token.header?["kid"]?.string })?.key,
            let claims = token.claims(ofType: Self.type, signedBy: key)
        else { return nil }
        self.init(claims)
    }

    private init?(_ claims: JSONObject) {
        guard let id = claims["jti"]?.string, let issuer = claims["iss"]?.string, let subject = claims["sub"]?.string,
            let clientID = claims["aud"]?.string.flatMap(ClientID.init), let context = claims["context"]?.string,
            let acr = claims["acr"]?.string, let authTime = claims["auth_time"]?.integer,
            let issuedAt = claims["iat"]?.integer, let expiresAt = claims["exp"]?.integer
        else { return nil }
        self.init(
            id: id, issuer: issuer, subject: subject, clientID: clientID, context: context, acr: acr,
            authTime: Timestamp(secondsSinceEpoch: authTime), issuedAt: Timestamp(secondsSinceEpoch: issuedAt),
            expiresAt: Timestamp(secondsSinceEpoch: expiresAt))
    }
}

extension TransactionApprovals {
    /// Verifies a receipt for one of the administrator's services, and spends it.
    /// - Parameter clients: The clients whose receipts the caller may redeem; nil for all.
    /// - Throws: `invalid_token` for a receipt of another issuer, or one that has expired; `receipt_redeemed` for one
    ///   that was redeemed; `temporarily_unavailable`, and then it may have been redeemed.
    func redeem(_ text: Secret, clients: Set<String>? = nil) async throws(SignInError) -> Receipt {
        do throws(SignInError) {
            let receipt = try await spend(text, clients)
            environment.logger.info("receipt redeemed", metadata: ["client_id": "\(receipt.clientID)"])
            return receipt
        } catch {
            environment.logger.log(
                level: error.fault.logLevel, "receipt refused",
                metadata: ["outcome": "\(error.codeText)", "reason": "\(error.description)"])
            throw error
        }
    }

    private func spend(_ text: Secret, _ clients: Set<String>?) async throws(SignInError) -> Receipt {
        guard let receipt = Receipt(text, signedByOneOf: try await useCases.signingKeys.published()),
            clients?.contains(receipt.clientID.text) ?? true
        else { throw .unknownReceipt }
        let now = environment.clock.now()
        guard now < receipt.expiresAt else { throw .expiredReceipt }
        let id = TokenHash(sha256Of: receipt.id)
        if let refusal = try await mappingStoreErrors(await feature.store.redeemReceipt(id, at: now)) { throw refusal }
        return receipt
    }
}

extension SignInError {
    static let unknownReceipt = SignInError(
        .invalidToken, .invalidRequest, "This server did not issue the receipt. Do not carry out the transaction.")

    static let expiredReceipt = SignInError(
        .invalidToken, .invalidRequest,
        "The receipt has expired. Do not carry out the transaction; ask the user to approve it again.")

    static let usedReceipt = SignInError(
        .receiptRedeemed, .requestDenied,
        "The receipt was redeemed before. Do not carry out the transaction a second time.")
}

extension SQLStore {
    /// Records a receipt for the user of a session, if that user approved. A code makes one receipt.
    /// - Parameters:
    ///   - receipt: The hash of its id.
    ///   - code: The hash of the authorization code.
    /// - Returns: Why it is not recorded; nil if it is.
    func addReceipt(
        _ receipt: TokenHash, of code: TokenHash, until end: Timestamp, approvedBy identity: Identity,
        session: TokenHash, at now: Timestamp
    ) async throws(StorageError) -> SignInError? {
        try await writes.submit { db in
            guard let user = try SessionsTable.session(session, at: now, in: db)?.user else { return .sessionUnknown }
            guard try UsersTable.user(identity, in: db)?.id == user.id else {
                return SignInError(.failed(.sameUser), codeWasPosted: true)
            }
            let count = try db.run(
                """
                INSERT INTO receipts (receipt_hash, code_hash, user_id, expires_at) VALUES (?, ?, ?, ?) \
                ON CONFLICT (code_hash) DO NOTHING
                """, receipt, code, user.id, end)
            return count > 0 ? nil : .codeUsed
        }
    }

    /// - Returns: Why it cannot be redeemed; nil if it is redeemed now.
    func redeemReceipt(_ id: TokenHash, at now: Timestamp) async throws(StorageError) -> SignInError? {
        try await writes.submit { db in
            let count = try db.run(
                """
                UPDATE receipts SET redeemed_at = ?1 \
                WHERE receipt_hash = ?2 AND redeemed_at IS NULL AND expires_at > ?1
                """, now, id)
            guard count == 0 else { return nil }
            let isRedeemed = try db.first(
                "SELECT redeemed_at IS NOT NULL FROM receipts WHERE receipt_hash = ?", id
            ) { $0.number(0) == 1 }
            guard let isRedeemed else { return .unknownReceipt }
            return isRedeemed ? .usedReceipt : .expiredReceipt
        }
    }
}
