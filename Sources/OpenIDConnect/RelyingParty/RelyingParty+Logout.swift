public import Primitives

/// Logout: a provider says that sessions are over, or is asked to end its own.
extension RelyingParty {
    /// Checks a logout token that somebody brought (OpenID Connect Back-Channel Logout section 2.6).
    ///
    /// Whoever brings it is nobody known. So what needs no keys is checked first; and keys that are at hand already are
    /// asked for anew, for the sake of logout tokens, once a minute at most.
    /// - Parameter clients: Those of ours at this provider.
    public func verify(
        logoutToken text: Secret, for clients: Set<ClientID>
    ) async throws(LogoutTokenRefusal) -> LogoutToken {
        guard case .ofIssuer(let issuer) = configuration.discovery, let client = clients.first else {
            throw .failed(.issuer)
        }
        let unverified = try UnverifiedLogoutToken(
            text,
            .init(issuer: issuer.text, clients: clients, rules: configuration.idTokenRules, now: clock.now()))
        let cache: KeyCache
        let held: KeyCache.Snapshot
        do throws(OIDCError) {
            let metadata = try await provider(
                for: nil, clientID: client, correlationID: .random(from: random))
            guard configuration.idTokenRules.allows(unverified.token.algorithm, at: metadata) else {
                throw OIDCError.failed(.algorithm)
            }
            cache = try keyCaches.cache(of: metadata)
            held = try await cache.current()
        } catch {
            if error.check == .algorithm { throw .failed(.algorithm) }
            throw .unknown(error)
        }
        do throws(LogoutTokenRefusal) {
            try Self.check(unverified, held.keys)
        } catch {
            guard logoutKeyFetches.take(now: clock.now()), let newer = await cache.newer(than: held) else {
                throw error
            }
            try Self.check(unverified, newer.keys)
        }
        return unverified.logout
    }

    private static func check(
        _ unverified: UnverifiedLogoutToken, _ keys: JSONWebKeySet
    ) throws(LogoutTokenRefusal) {
        let evidence = SignatureValidationContext(unverified.token, keys: keys)
        for rule in SignatureRule.all where !rule.isMet(evidence) {
            throw .failed(LogoutTokenCheck(rule.check))
        }
    }

    /// Where a browser goes so that the provider ends its own session, too (OpenID Connect RP-Initiated Logout section 2);
    /// nil if the provider has no such place.
    /// - Parameter returnURL: Where the provider sends the browser back to, with `state`.
    public func endSessionURL(
        clientID: ClientID, returnURL: String, state: Secret, correlationID: CorrelationID
    ) async throws(OIDCError) -> EndpointURL? {
        guard case .ofIssuer = configuration.discovery else { return nil }
        let metadata = try await provider(for: nil, clientID: clientID, correlationID: correlationID)
        return metadata.endSessionEndpoint?.appending(query: [
            ("client_id", clientID.text), ("post_logout_redirect_uri", returnURL), ("state", state.exposed),
        ])
    }
}
