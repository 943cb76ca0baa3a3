import OpenIDConnect
import Primitives

/// Reads and verifies the port tokens of a sign-in. With one, a former carrier vouches for a user who moved to another.
struct PortTokenVerifier: Sendable {
    /// Of the present carrier. It knows the issuers that are trusted, and keeps their keys.
    let relyingParty: RelyingParty
    let rules: PortTokenRules
    let clock: WallClock

    /// Reads the port tokens of an ID token, in their order. Nothing is fetched, and no result can be trusted yet.
    func read(_ portTokens: [Secret], for clientID: ClientID) -> [Result<UnverifiedPortToken, PortTokenError>] {
        let now = clock.now()
        return portTokens.map { text in
            Result { () throws(PortTokenError) in
                try UnverifiedPortToken(text, for: clientID, relyingParty.configuration, rules, now: now)
            }
        }
    }

    /// Verifies the signatures of all tokens concurrently, so that several carriers that hang cost no more time than
    /// one. The results are in the order of the tokens.
    ///
    /// For each of at most ``PortTokenRules/maximumIssuers`` issuers, the OpenID configuration and the keys are fetched
    /// if they are not cached; the keys once more if the token's key is missing or its signature does not verify.
    func verify(_ portTokens: [UnverifiedPortToken]) async -> [Result<VerifiedPortToken, PortTokenError>] {
        var issuers: Set<String> = []
        for token in portTokens where issuers.count < rules.maximumIssuers { issuers.insert(token.issuer) }
        return await withTaskGroup { group in
            for (index, token) in portTokens.enumerated() where issuers.contains(token.issuer) {
                group.addTask { (index, await self.verify(token)) }
            }
            var results = portTokens.map { token in
                Result<VerifiedPortToken, _>.failure(PortTokenError(check: .issuerCount, issuer: token.issuer))
            }
            for await (index, result) in group { results[index] = result }
            return results
        }
    }

    private func verify(_ token: UnverifiedPortToken) async -> Result<VerifiedPortToken, PortTokenError> {
        guard let cache = try? await relyingParty.keys(of: token.issuerURL) else {
            return .failure(PortTokenError(check: .metadata, issuer: token.issuer))
        }
        guard let held = try? await cache.current() else {
            return .failure(PortTokenError(check: .keys, issuer: token.issuer))
        }
        do throws(PortTokenError) {
            return .success(
                try await cache.check(with: held, mayFetch: { [.key, .signature].contains($0.check) }) {
                    (keys) throws(PortTokenError) in try VerifiedPortToken(token, keys: keys)
                })
        } catch {
            return .failure(error)
        }
    }
}
