public import Primitives
public import StorageModel

/// What the operator's other services ask of a token that somebody showed them.
extension Sessions {
    public enum TokenKind: Sendable, Hashable { case session, refresh }

    /// The session a token is good for; nil if it is good for none (RFC 7662 section 2.2).
    ///
    /// Only the kind that was asked for: a service that took a refresh token for a session token would let its holder
    /// in for a month.
    /// - Throws: `temporarily_unavailable`.
    public func introspect(_ token: Secret, as kind: TokenKind) async throws(SignInError) -> SessionAndUser? {
        switch kind {
        case .session: return try await authenticate(token)
        case .refresh:
            guard case .live(let found) = try await refreshTokenState(token) else { return nil }
            return found
        }
    }

    /// Ends the session that a token of either kind belongs to; nothing happens if there is none (RFC 7009 section 2.2).
    /// - Parameter clients: The clients whose sessions the caller may end; nil for all.
    /// - Throws: `temporarily_unavailable`.
    public func revoke(
        _ token: Secret, clients: Set<String>? = nil, requestID: String
    ) async throws(SignInError) {
        guard let found = try await holder(of: token), clients?.contains(found.session.clientID) ?? true else { return }
        let event = event(.sessionRevoked, found.user.id, by: .client(found.session.clientID), requestID) {
            $0.add("session_id", found.session.id)
        }
        _ = try await revoke(found.session.id, of: found.user.id, recording: event)
    }

    /// The session of a token, also of a refresh token that was exchanged already: its holder wants it to end.
    private func holder(of token: Secret) async throws(SignInError) -> SessionAndUser? {
        if let found = try await authenticate(token) { return found }
        switch try await refreshTokenState(token) {
        case .live(let found), .justSpent(let found, _), .spent(let found): return found
        case .unknown: return nil
        }
    }

    private func refreshTokenState(_ token: Secret) async throws(SignInError) -> RefreshTokenState {
        guard let hashes = PresentedRefreshToken(token)?.hashes else { return .unknown }
        let now = clock.now()
        return try await stored(await store.refreshToken(hashes, at: now))
    }
}
