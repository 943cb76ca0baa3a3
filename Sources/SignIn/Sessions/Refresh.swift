import Logging
package import Primitives
import StorageModel

/// A request to exchange a session's refresh token for new tokens (RFC 6749 section 6).
package struct RefreshRequest: Sendable {
    package var refreshToken: Secret
    /// The client that the session must belong to, if the app names one.
    package var clientID: String?
    package var caller: Caller
    /// The thumbprint of the key that the caller has proved (DPoP).
    package var key: String?
    /// The clients whose sessions the caller may refresh; nil for all.
    package var clients: Set<String>?
    package var correlationID: CorrelationID?

    package init(refreshToken: Secret, caller: Caller) {
        self.refreshToken = refreshToken
        self.caller = caller
    }
}

/// Exchanges refresh tokens, each once (RFC 9700 section 4.14.2).
///
/// An app that lost the response, or two of its windows at once, may repeat the last exchange: all get the same new
/// tokens, as long as the new refresh token is unused. Any other reuse of a token means that it was copied, so the
/// session is revoked. Without a grace period no exchange can be repeated.
package struct Refresh: Sendable {
    let environment: Environment
    let sessions: Sessions
    let store: any SessionStore

    /// The caller of an exchange that bound a session to a key.
    static let binding = TokenHash(sha256Of: "binding to a key")

    /// - Throws: `invalid_dpop_proof` without the key that the token is bound to, or must be; `invalid_grant` for a
    ///   token that is unknown, expired, revoked, used, or of another client; `temporarily_unavailable`, which says
    ///   nothing about the token.
    package func callAsFunction(_ request: RefreshRequest) async throws(SignInError) -> SignedIn {
        let correlationID = request.correlationID ?? .random(from: environment.random)
        do throws(SignInError) {
            return try await refresh(request, correlationID)
        } catch {
            // A page needs no API key, and any text can stand for a token.
            environment.refusals.log(
                error.fault.logLevel, "refresh refused", of: "refresh refused \(error.code.rawValue)",
                to: environment.logger
            ) {
                ["correlation_id": "\(correlationID)", "outcome": "\(error.codeText)"]
            }
            throw error.with(correlationID)
        }
    }

    private func refresh(
        _ request: RefreshRequest, _ correlationID: CorrelationID
    ) async throws(SignInError) -> SignedIn {
        guard let shown = PresentedRefreshToken(request.refreshToken) else { throw .refreshTokenInvalid }
        if let key = shown.key, key != request.key {
            // Where no client has bound tokens any more, no proof is read.
            throw sessions.keyRules.isEmpty ? .refreshTokenInvalid : .keyNotProved
        }
        let presented = shown.hashes
        // Read again if another request was faster with the same token, which is no longer live then.
        for _ in 0..<2 {
            let now = environment.clock.now()
            let ticket = sessions.cache.ticket(at: now)
            let state = try await mappingStoreErrors(await store.refreshToken(presented, at: now))
            switch state {
            case .unknown: throw .refreshTokenInvalid
            case .live(let found):
                try check(found.session, request)
                sessions.lastSeen.record(found.session, at: now)
                guard let tokens = try await rotate(found, shown, presented, request, ticket) else { continue }
                return signedIn(found, tokens, "refreshed", correlationID)
            case .justSpent(let found, let last)
            where last.caller == Self.binding || sessions.lifetimes.of(found.session.clientID).refreshGrace > 0:
                try check(found.session, request)
                let isBinding = last.caller == Self.binding
                let successor = SuccessorTokens(
                    of: shown, salt: last.salt, boundTo: isBinding ? request.key : shown.key)
                if isBinding {
                    switch try await sessions.refreshTokenState(Secret(successor.refreshToken)) {
                    case .live: break
                    case .justSpent: throw .refreshTokenInvalid
                    case .spent, .unknown:
                        // Another key than that of the exchange has another successor, which does not exist: two have
                        // this token, and the one who bound the session may be the thief.
                        try await revoke(found, correlationID)
                        throw .refreshTokenInvalid
                    }
                }
                sessions.counts.note { $0.refreshedAgain += 1 }
                // The session token has its stored end. The refresh token ends no later than one issued now.
                let ends = sessions.lifetimes.of(found.session.clientID)
                    .ends(ofSessionMadeAt: found.session.createdAt, at: now)
                let tokens = successor.tokens(expiringAt: (found.session.expiresAt, ends.refresh), now: now)
                return signedIn(found, tokens, "refreshed_again", correlationID)
            case .justSpent(let found, _), .spent(let found):
                // A caller without access to the client cannot end its sessions either.
                guard request.clients?.contains(found.session.clientID) ?? true else { throw .refreshTokenInvalid }
                try await revoke(found, correlationID)
                throw .refreshTokenInvalid
            }
        }
        throw .refreshContended
    }

    /// A token of another client is refused but stays valid: the client it belongs to did nothing wrong.
    private func check(_ session: Session, _ request: RefreshRequest) throws(SignInError) {
        guard request.clientID == nil || request.clientID == session.clientID,
            request.clients?.contains(session.clientID) ?? true
        else { throw .refreshTokenInvalid }
    }

    /// Nil if another request was faster.
    private func rotate(
        _ found: SessionAndUser, _ shown: PresentedRefreshToken, _ presented: RefreshTokenHashes,
        _ request: RefreshRequest, _ ticket: SessionCache.Ticket
    ) async throws(SignInError) -> SessionTokens? {
        let now = environment.clock.now()
        let lifetimes = sessions.lifetimes.of(found.session.clientID)
        let ends = lifetimes.ends(ofSessionMadeAt: found.session.createdAt, at: now)
        guard ends.refresh > now else { throw .refreshTokenInvalid }
        let key = try sessions.keyRules.key(for: found.session, of: shown, request)
        let salt = SuccessorTokens.salt(at: now, environment.random)
        let successor = SuccessorTokens(of: shown, salt: salt, boundTo: key)
        let caller = key == shown.key ? request.caller.hash : Self.binding
        var rotation = RefreshTokenRotation(
            of: presented, tokenHash: TokenHash(ofSessionToken: successor.token),
            refreshTokenHash: TokenHash(ofSessionToken: successor.refreshToken), expiresAt: ends.access,
            refreshExpiresAt: ends.refresh, last: LastRotation(salt: salt, caller: caller),
            formerTokenEndsAt: now.advanced(bySeconds: lifetimes.refreshGrace))
        if sessions.clientsWithIDTokens.contains(found.session.clientID) {
            rotation.idTokenKey = SealedIDToken.sessionKey(for: successor.token, of: shown)
        }
        // The cache must not keep the old token longer than its grace period.
        defer { if lifetimes.refreshGrace < SessionCache.freshness { sessions.cache.remove(found.user.id) } }
        let isDone = try await mappingStoreErrors(await store.rotate(rotation))
        guard isDone else { return nil }
        sessions.counts.note { $0.refreshed += 1 }
        sessions.remember(found, expiringAt: ends.access, under: rotation.tokenHash, ticket)
        return successor.tokens(expiringAt: ends, now: now)
    }

    /// Ends a session whose used refresh token was presented again.
    private func revoke(_ found: SessionAndUser, _ correlationID: CorrelationID) async throws(SignInError) {
        let event = sessions.event(.refreshTokenReused, found.user.id, by: .latchkey, correlationID.text) {
            $0.add("session_id", found.session.id)
            $0.add("client_id", found.session.clientID)
        }
        let revocation = try await sessions.revoke(
            found.session.id, of: found.user.id, in: nil, recording: event, countedAs: \.reused)
        guard revocation == .revoked else { return }
        log(
            "a spent refresh token was shown; its session is revoked", .warning, correlationID,
            ["client_id": "\(found.session.clientID)", "session_id": "\(found.session.id)"])
    }

    private func signedIn(
        _ found: SessionAndUser, _ tokens: SessionTokens, _ outcome: String, _ correlationID: CorrelationID
    ) -> SignedIn {
        log(
            "refresh", .info, correlationID, ["client_id": "\(found.session.clientID)", "outcome": "\(outcome)"])
        return SignedIn(tokens: tokens, userID: found.user.id, isNew: false, correlationID: correlationID)
    }

    private func log(
        _ message: Logger.Message, _ level: Logger.Level, _ correlationID: CorrelationID, _ metadata: Logger.Metadata
    ) {
        guard environment.logger.logLevel <= level else { return }
        environment.logger.log(
            level: level, message, metadata: metadata.merging(["correlation_id": "\(correlationID)"]) { $1 })
    }
}
