package import Primitives
package import StorageModel

/// Refresh tokens as proof of a session, and the end of a session by any of its tokens.
extension Sessions {
    /// The session of a refresh token that was not exchanged yet; nil for any other.
    /// - Throws: `temporarily_unavailable`.
    package func authenticate(refreshToken: Secret) async throws(SignInError) -> SessionAndUser? {
        guard case .live(let found) = try await refreshTokenState(refreshToken) else { return nil }
        return found
    }

    /// Ends the session of a token of either kind, if there is one (RFC 7009 section 2.2).
    /// - Parameter clients: The clients whose sessions the caller may end; nil for all.
    /// - Throws: `temporarily_unavailable`.
    package func revoke(_ token: Secret, clients: Set<String>? = nil, requestID: String) async throws(SignInError) {
        guard let found = try await holder(of: token), clients?.contains(found.session.clientID) ?? true else { return }
        let event = event(.sessionRevoked, found.user.id, by: .client(found.session.clientID), requestID) {
            $0.add("session_id", found.session.id)
        }
        _ = try await revoke(found.session.id, of: found.user.id, in: nil, recording: event)
    }

    /// The session of a token, including a refresh token that was exchanged: its holder wants the session to end.
    private func holder(of token: Secret) async throws(SignInError) -> SessionAndUser? {
        if let found = try await authenticate(token) { return found }
        switch try await refreshTokenState(token) {
        case .live(let found), .justSpent(let found, _), .spent(let found): return found
        case .unknown: return nil
        }
    }

    package func refreshTokenState(_ token: Secret) async throws(SignInError) -> RefreshTokenState {
        guard let token = PresentedRefreshToken(token) else { return .unknown }
        let now = clock.now()
        return try await mappingStoreErrors(await store.refreshToken(token.hashes, at: now))
    }
}
