public import Primitives

/// Account migration: port tokens, by which a former carrier vouches for a user who has gone to another.
extension RelyingParty {
    /// Takes the port tokens of an ID token apart, in their order. Nothing is fetched, and nothing is to be believed yet.
    public func read(
        portTokens: [Secret], for clientID: ClientID
    ) -> [Result<UnverifiedPortToken, PortTokenRefusal>] {
        let requirements = UnverifiedPortToken.Requirements(
            rules: configuration.portTokenRules, idTokenRules: configuration.idTokenRules,
            metadata: ProviderMetadata.Requirements(
                urlPolicy: configuration.urlPolicy, trustedHosts: configuration.trustedHosts),
            clientID: clientID, now: clock.now())
        return portTokens.map { text in
            Result { () throws(PortTokenRefusal) in try UnverifiedPortToken(text, requirements) }
        }
    }

    /// Looks at the signatures, all at the same time, so that a carrier that hangs costs no more than one that does. The
    /// results are in the order of the tokens.
    ///
    /// For each issuer, at most ``PortTokenRules/maximumIssuers`` of them, its OpenID configuration and its keys are
    /// fetched where they are not at hand: one request of each kind, and one more for the keys if the token's is not
    /// among those held, or is another now.
    public func verify(
        _ portTokens: [UnverifiedPortToken]
    ) async -> [Result<VerifiedPortToken, PortTokenRefusal>] {
        var issuers: Set<String> = []
        for token in portTokens where issuers.count < configuration.portTokenRules.maximumIssuers {
            issuers.insert(token.issuer)
        }
        return await withTaskGroup { group in
            for (index, token) in portTokens.enumerated() where issuers.contains(token.issuer) {
                group.addTask { (index, await self.verify(token)) }
            }
            var results = portTokens.map { token in
                Result<VerifiedPortToken, _>.failure(PortTokenRefusal(.issuerCount, issuer: token.issuer))
            }
            for await (index, result) in group { results[index] = result }
            return results
        }
    }

    private func verify(_ token: UnverifiedPortToken) async -> Result<VerifiedPortToken, PortTokenRefusal> {
        let cache: KeyCache
        let held: KeyCache.Snapshot
        do throws(OIDCError) {
            let metadata = try await issuerConfigurations.metadata(of: token.issuerURL)
            cache = keyCaches.cache(of: metadata.issuer, at: metadata.jwksURI)
        } catch {
            return .failure(PortTokenRefusal(.metadata, issuer: token.issuer))
        }
        do throws(OIDCError) {
            held = try await cache.current()
        } catch {
            return .failure(PortTokenRefusal(.keys, issuer: token.issuer))
        }
        do throws(PortTokenRefusal) {
            return .success(try VerifiedPortToken(token, keys: held.keys))
        } catch {
            guard [.key, .signature].contains(error.check), let newer = await cache.newer(than: held) else {
                return .failure(error)
            }
            return Result { () throws(PortTokenRefusal) in try VerifiedPortToken(token, keys: newer.keys) }
        }
    }
}
