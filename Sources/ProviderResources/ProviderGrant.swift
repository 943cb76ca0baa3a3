import Logging
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// One user's stored tokens of a provider for one client, refreshed when needed.
///
/// A refresh token may be good only once, so that no two requests may send the same one. Within this process, callers
/// share one refresh (``TokenRefreshes``). Across processes, a lease and the request are written into the row before
/// the request is sent; a process without the lease waits and reads again. New tokens are stored before they are used.
///
/// A lease ends when its holder stores the response or gives up. The lease of a process that has ended is taken over by
/// one that has seen the same lease for longer than a refresh can take, by its own monotonic clock: wall clocks differ
/// between machines, and can be set. The new holder sends the refresh token once more, because the provider may not
/// have got the first request, or may accept a repetition. If the provider refuses it, the grant has ended. It also
/// ends if the response has an ID token that is not valid, such as another user's. If the keys that tell are not
/// available, the tokens are stored, and used once the ID token has been validated.
struct ProviderGrant: Sendable {
    let user: UserID
    let provider: String
    let client: SignInConfiguration.Client
    let relyingParty: RelyingParty
    let metadata: ProviderMetadata
    let correlationID: CorrelationID
    let store: SQLStore
    let vault: TokenVault
    let refreshes: TokenRefreshes
    let environment: Environment

    /// The pause between two reads of a row that another process refreshes.
    private static let look = Duration.milliseconds(100)
    /// How much longer than the longest refresh a lease lasts, to store the response.
    static let slack = Duration.seconds(5)
    /// How much longer than a lease a caller waits for other processes.
    private static let patience = Duration.seconds(2)
    /// The pauses between tries to store new tokens.
    private static let pauses: [Duration] = [.milliseconds(20), .milliseconds(100), .milliseconds(400)]

    /// Tokens that are not known to be expired or refused.
    /// - Parameter refused: An access token that the provider refused.
    /// - Throws: `grant_missing`, `grant_revoked`, `carrier_error`, `carrier_timeout`, `temporarily_unavailable`;
    ///   `server_error` if the stored tokens cannot be decrypted.
    func tokens(besides refused: Secret? = nil) async throws(SignInError) -> ProviderTokens {
        let record = try await record()
        let tokens = try open(record)
        guard tokens.areStale(at: environment.clock.now(), refused: refused) else { return tokens }
        return try await refreshes.share(record.serial) {
            do throws(SignInError) {
                return .success(try await refreshed(besides: refused))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Sends at most one request with each refresh token.
    private func refreshed(besides refused: Secret?) async throws(SignInError) -> ProviderTokens {
        let leaseTime = relyingParty.refreshTimeout(at: metadata) + Self.slack
        let start = environment.uptime.elapsed()
        // The lease of another process, by the row's version, since when it is observed, and what it is to replace.
        var observed: (version: Int64, since: Duration, accessToken: Secret)?
        while true {
            let record = try await record()
            let tokens = try open(record)
            guard tokens.areStale(at: environment.clock.now(), refused: refused) else { return tokens }
            // What the other process has just got is used, also if it lives for seconds, or ended by this clock.
            if let observed, tokens.unverified == nil,
                ![observed.accessToken, refused].contains(tokens.accessToken)
            {
                return tokens
            }
            if try await mappingStoreErrors(
                await refreshes.saveUnsaved(record.serial, version: record.version, in: store))
            {
                continue
            }
            if let unverified = tokens.unverified {
                try await verify(tokens, unverified, record)
                continue
            }
            guard let refreshToken = tokens.refreshToken else {
                try await end(record, version: record.version, .expired)
                continue
            }
            let now = environment.uptime.elapsed()
            if record.isLeased(to: refreshes.holder, sending: refreshToken) {
                if observed?.version != record.version { observed = (record.version, now, tokens.accessToken) }
                guard let since = observed?.since, now - since >= leaseTime else {
                    guard now - start < leaseTime + Self.patience else { throw .grantContended }
                    try? await Task.sleep(for: Self.look)
                    continue
                }
                log("lease_taken_over", .warning)
            }
            try await mappingErrors(
                awaiting: try await relyingParty.prepareValidation(at: metadata, correlationID: correlationID),
                to: SignInError.init(ofResource:))
            let request = record.request(sending: refreshToken, at: environment.clock.now())
            let leaseEnd = environment.clock.now().advanced(bySeconds: leaseTime.components.seconds)
            guard
                try await mappingStoreErrors(
                    await store.leaseProviderTokens(
                        record.serial, version: record.version, to: refreshes.holder, sending: request,
                        until: leaseEnd)),
                let renewed = try await renew(tokens, by: refreshToken, record, version: record.version + 1)
            else { continue }
            return renewed
        }
    }

    /// Refreshes the tokens and stores the new ones. Nil if the row has other tokens by now, or is gone.
    /// - Parameter version: The row's version since the lease.
    private func renew(
        _ tokens: ProviderTokens, by refreshToken: Secret, _ record: ProviderTokenRecord, version: Int64
    ) async throws(SignInError) -> ProviderTokens? {
        let isRepetition = record.hasSent(refreshToken)
        if isRepetition { log("request_repeated", .warning) }
        let response: RefreshResponse
        do throws(OIDCError) {
            response = try await relyingParty.refresh(
                refreshToken,
                client: client.credentials,
                of: tokens.original(of: record.binding.identity), boundTo: tokens.refreshTokenKey,
                signedWith: client.signingAlgorithms, provider: metadata, correlationID: correlationID)
        } catch {
            if error.code == .invalidIDToken {
                try await end(record, version: version, .idTokenInvalid, error.check)
                return nil
            }
            if error.code == .carrierRefused, error.carrierError == "invalid_grant" {
                try await end(record, version: version, isRepetition ? .lost : .refused)
                return nil
            }
            // If this fails, the lease is taken over later.
            try? await store.endProviderTokenLease(
                record.serial, version: version, keepingRequest: isRepetition || error.mayHaveSpentGrant)
            throw SignInError(ofResource: error)
        }
        let renewed = tokens.renewed(by: response, at: environment.clock.now())
        let sealed = try sealed(renewed, record)
        var version: Int64? = version
        while let seen = version {
            if try await keep(sealed, record.serial, version: seen) {
                if let error = response.unverified {
                    log("id_token_unverified", .warning)
                    throw SignInError(ofResource: error)
                }
                log("refreshed", .info)
                return renewed
            }
            version = try await laterVersion(of: record.serial, above: seen, holding: refreshToken)
        }
        log("overtaken", .info)
        return nil
    }

    /// Validates the ID token of an earlier refresh, which could not be validated then. Stores the tokens as verified,
    /// or ends the grant, unless the row has changed.
    private func verify(
        _ tokens: ProviderTokens, _ unverified: ProviderTokens.UnverifiedIDToken, _ record: ProviderTokenRecord
    ) async throws(SignInError) {
        do throws(OIDCError) {
            try await relyingParty.validate(
                refreshed: unverified.token, accessToken: tokens.accessToken, receivedAt: unverified.receivedAt,
                client: client.id, of: tokens.original(of: record.binding.identity),
                signedWith: client.signingAlgorithms, provider: metadata, correlationID: correlationID)
        } catch {
            guard error.code == .invalidIDToken else { throw SignInError(ofResource: error) }
            try await end(record, version: record.version, .idTokenInvalid, error.check)
            return
        }
        var verified = tokens
        verified.unverified = nil
        if try await keep(try sealed(verified, record), record.serial, version: record.version) {
            log("id_token_verified", .info)
        }
    }

    private func sealed(_ tokens: ProviderTokens, _ record: ProviderTokenRecord) throws(SignInError) -> SealedTokens {
        guard let sealed = try? vault.seal(tokens, at: record.binding) else { throw .internalFault }
        return sealed
    }

    /// The row's later version if a sign-in without a refresh token changed it during the refresh and kept the refresh
    /// token that is used by now: the new tokens belong there. Nil if the user has another refresh token, or none.
    private func laterVersion(
        of serial: Int64, above version: Int64, holding refreshToken: Secret
    ) async throws(SignInError) -> Int64? {
        let found = try await mappingStoreErrors(
            await store.providerTokens(of: user, provider: provider, clientID: client.id.text))
        guard let found, found.serial == serial, found.version > version else { return nil }
        return try open(found).refreshToken == refreshToken ? found.version : nil
    }

    /// Stores new tokens. False if the row was changed or deleted meanwhile.
    private func keep(_ sealed: SealedTokens, _ serial: Int64, version: Int64) async throws(SignInError) -> Bool {
        var failure: StorageError?
        for pause in [nil] + Self.pauses.map(Optional.some) {
            if let pause { try? await Task.sleep(for: pause) }
            do throws(StorageError) {
                return try await store.replaceProviderTokens(serial, version: version, with: sealed)
            } catch {
                failure = error
            }
        }
        refreshes.keepUnsaved(sealed, serial, version: version, in: store)
        log("not_stored", .error)
        throw failure.map { SignInError($0) } ?? .internalFault
    }

    private enum Ending: String {
        /// The access token has expired, and there is no refresh token.
        case expired
        case refused
        /// The provider refused the refresh token after an earlier request with it, whose response was lost. Probably
        /// the lost response had the next refresh token.
        case lost = "response_lost"
        /// The response to a refresh has an ID token that is not valid.
        case idTokenInvalid = "id_token_invalid"
    }

    /// Deletes tokens that must not be used any more, and records why, unless the row has changed.
    private func end(
        _ record: ProviderTokenRecord, version: Int64, _ ending: Ending, _ check: IDTokenCheck? = nil
    ) async throws(SignInError) {
        let event = AuditEvent(
            at: environment.clock.now(), .providerGrantEnded, user: user, by: .latchkey, requestID: correlationID.text,
            details: AuditDetails { details in
                details.add("provider", provider)
                details.add("client_id", client.id.text)
                details.add("reason", ending.rawValue)
                details.add("check", ifPresent: check?.rawValue)
            })
        let isOver = try await mappingStoreErrors(
            await store.deleteProviderTokens(record.serial, version: version, recording: event))
        guard isOver else { return }
        var reason: Logger.Metadata = ["reason": "\(ending.rawValue)"]
        if let check { reason["check"] = "\(check.rawValue)" }
        switch ending {
        case .expired, .refused:
            log("grant_ended", .info, reason)
            throw .grantRevoked
        case .lost:
            log("grant_ended", .warning, reason)
            throw .grantLost
        case .idTokenInvalid:
            log("grant_ended", .warning, reason)
            throw .refreshedIDTokenInvalid(check)
        }
    }

    private func record() async throws(SignInError) -> ProviderTokenRecord {
        let found = try await mappingStoreErrors(
            await store.providerTokens(of: user, provider: provider, clientID: client.id.text))
        guard let found else { throw .grantMissing }
        return found
    }

    private func open(_ record: ProviderTokenRecord) throws(SignInError) -> ProviderTokens {
        do throws(TokenVault.VaultError) {
            return try vault.open(record)
        } catch {
            log(error.rawValue, .error, ["key": "\(record.sealed.keyID)", "row": "\(record.serial)"])
            throw .tokensUnreadable
        }
    }

    private func log(_ outcome: String, _ level: Logger.Level, _ more: Logger.Metadata = [:]) {
        let metadata: Logger.Metadata = [
            "provider": "\(provider)", "outcome": "\(outcome)", "correlation_id": "\(correlationID)",
        ]
        environment.logger.log(level: level, "provider tokens", metadata: metadata.merging(more) { $1 })
    }
}

extension ProviderTokens {
    /// Whether the access token cannot be sent as it is: it must be refreshed, or its ID token validated.
    /// - Parameter refused: An access token that the provider refused.
    func areStale(at now: Timestamp, refused: Secret?) -> Bool {
        if unverified != nil { return true }
        if let refused, refused == accessToken { return true }
        return refreshAt.map { $0 <= now } ?? false
    }

    /// The tokens after a refresh. What the response leaves out stays (RFC 6749 section 6), and the authentication is
    /// still the sign-in's.
    fileprivate func renewed(by response: RefreshResponse, at now: Timestamp) -> ProviderTokens {
        var tokens = ProviderTokens(response.tokens, at: now)
        if response.unverified != nil, let idToken = response.tokens.idToken {
            tokens.unverified = UnverifiedIDToken(token: idToken, receivedAt: now)
        }
        tokens.refreshToken = tokens.refreshToken ?? refreshToken
        tokens.scope = tokens.scope ?? scope
        tokens.original = original
        return tokens
    }

    /// The ID token of the sign-in that these are of.
    fileprivate func original(of identity: Identity) -> OriginalIDToken {
        OriginalIDToken(issuer: identity.issuer, subject: identity.subject, claims: original)
    }
}

extension AuditEvent.Kind {
    /// A provider's stored tokens of a user could not be refreshed any more, and were deleted.
    static let providerGrantEnded = AuditEvent.Kind("provider_grant.ended")
}

extension ProviderTokenRecord {
    /// Whether another process may be sending this refresh token.
    fileprivate func isLeased(to holder: String, sending refreshToken: Secret) -> Bool {
        guard let lease else { return false }
        guard let other = lease.holder else { return true }
        return other != holder && hasSent(refreshToken)
    }

    fileprivate func hasSent(_ refreshToken: Secret) -> Bool {
        request?.refreshToken == TokenHash(sha256Of: refreshToken.exposed)
    }

    fileprivate func request(sending refreshToken: Secret, at now: Timestamp) -> Request {
        if let request, hasSent(refreshToken) { return request }
        return Request(refreshToken: TokenHash(sha256Of: refreshToken.exposed), startedAt: now)
    }
}

extension OIDCError {
    /// Whether the provider may have replaced the refresh token although there is no usable response.
    fileprivate var mayHaveSpentGrant: Bool {
        // An error of RFC 6749 section 5.2 says that it has not.
        codeMayBeSpent && code != .carrierRefused && code != .clientRefused
    }
}
