import Logging
import OpenIDConnect
import Primitives
import StorageModel

/// One user's stored tokens of a provider for one client, refreshed when needed.
///
/// A refresh token may be good only once, so that no two requests may send the same one. Within this process, callers
/// share one refresh (``TokenRefreshes``). Across processes, the row is claimed first; a process without the claim
/// waits and reads again. New tokens are stored before they are used.
struct ProviderGrant: Sendable {
    let user: UserID
    let provider: String
    let client: SignInConfiguration.Client
    let relyingParty: RelyingParty
    let metadata: ProviderMetadata
    let correlationID: CorrelationID
    let store: any ProviderTokenStore
    let vault: TokenVault
    let refreshes: TokenRefreshes
    let clock: WallClock
    let logger: Logger

    /// The pause between two reads of a row that another process refreshes.
    private static let look = Duration.milliseconds(100)
    /// 15 seconds in all: the usual duration of another process's claim.
    private static let looks = 150
    /// The seconds that a claim outlasts the longest token request, to store the response.
    private static let slack: Int64 = 5
    /// The pauses between tries to store new tokens.
    private static let pauses: [Duration] = [.milliseconds(20), .milliseconds(100), .milliseconds(400)]

    /// Tokens that are not known to be expired or refused.
    /// - Parameter refused: An access token that the provider refused.
    /// - Throws: `grant_missing`, `grant_revoked`, `carrier_error`, `carrier_timeout`, `temporarily_unavailable`;
    ///   `server_error` if the stored tokens cannot be decrypted.
    func tokens(besides refused: Secret? = nil) async throws(SignInError) -> ProviderTokens {
        let record = try await record()
        let tokens = try open(record)
        guard tokens.areStale(at: clock.now(), refused: refused) else { return tokens }
        return try await refreshes.share(record.serial) {
            do throws(SignInError) {
                return .success(try await refreshed(besides: refused))
            } catch {
                return .failure(error)
            }
        }
    }

    private func refreshed(besides refused: Secret?) async throws(SignInError) -> ProviderTokens {
        let claimSeconds = relyingParty.tokenTimeout.components.seconds + Self.slack
        for _ in 0..<Self.looks {
            let record = try await record()
            let tokens = try open(record)
            guard tokens.areStale(at: clock.now(), refused: refused) else { return tokens }
            if let sealed = refreshes.takeUnsaved(record.serial, version: record.version) {
                _ = try await keep(sealed, record.serial, version: record.version)
            } else if let refreshToken = tokens.refreshToken {
                let (now, version) = (clock.now(), record.version)
                let isOurs = try await stored(
                    await store.claimProviderTokens(
                        record.serial, version: version, until: now.advanced(bySeconds: claimSeconds), at: now))
                if isOurs {
                    try await renew(tokens, by: refreshToken, record, version: version + 1)
                } else {
                    try? await Task.sleep(for: Self.look)
                }
            } else {
                try await end(record, version: record.version)
            }
        }
        throw .grantContended
    }

    /// Refreshes the tokens and stores the new ones.
    /// - Parameter version: The row's version since the claim.
    private func renew(
        _ tokens: ProviderTokens, by refreshToken: Secret, _ record: ProviderTokenRecord, version: Int64
    ) async throws(SignInError) {
        let response: TokenResponse
        do throws(OIDCError) {
            response = try await relyingParty.refresh(
                refreshToken,
                client: ClientCredentials(clientID: client.id, authentication: client.authentication),
                provider: metadata, correlationID: correlationID)
        } catch {
            if error.code == .carrierRefused, error.carrierError == "invalid_grant" {
                return try await end(record, version: version)
            }
            // If this fails, the claim expires.
            try? await store.releaseProviderTokens(record.serial, version: version)
            throw SignInError(ofResource: error)
        }
        let renewed = tokens.renewed(by: response, at: clock.now())
        let sealed: SealedTokens
        do throws(TokenVault.Failure) {
            sealed = try vault.seal(renewed, at: record.binding)
        } catch {
            throw .internalFault
        }
        var version: Int64? = version
        while let seen = version {
            if try await keep(sealed, record.serial, version: seen) { return log("refreshed", .info) }
            version = try await laterVersion(of: record.serial, above: seen, holding: refreshToken)
        }
    }

    /// The row's later version if a sign-in without a refresh token changed it during the refresh and kept the refresh
    /// token that is used by now: the new tokens belong there. Nil if the user has another refresh token, or none.
    private func laterVersion(
        of serial: Int64, above version: Int64, holding refreshToken: Secret
    ) async throws(SignInError) -> Int64? {
        let found = try await stored(await store.providerTokens(of: user, provider: provider, clientID: client.id.text))
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
        refreshes.keepUnsaved(sealed, serial, version: version)
        log("not_stored", .error)
        throw failure.map { SignInError($0) } ?? .internalFault
    }

    /// Deletes tokens that the provider no longer accepts, unless the row has changed.
    private func end(_ record: ProviderTokenRecord, version: Int64) async throws(SignInError) {
        let isOver = try await stored(await store.deleteProviderTokens(record.serial, version: version))
        guard isOver else { return }
        log("grant_revoked", .info)
        throw .grantRevoked
    }

    private func record() async throws(SignInError) -> ProviderTokenRecord {
        let found = try await stored(await store.providerTokens(of: user, provider: provider, clientID: client.id.text))
        guard let found else { throw .grantMissing }
        return found
    }

    private func open(_ record: ProviderTokenRecord) throws(SignInError) -> ProviderTokens {
        do throws(TokenVault.Failure) {
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
        logger.log(level: level, "provider tokens", metadata: metadata.merging(more) { $1 })
    }
}
