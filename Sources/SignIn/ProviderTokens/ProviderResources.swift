import Logging
import OpenIDConnect
import Primitives
package import StorageModel

/// Fetches a user's resources from a provider, with the tokens of the user's sign-in: for instance Zoom's ZAK.
///
/// A client names one of the resources that the operator configured. It cannot send a URL or a parameter.
package struct ProviderResources: Sendable {
    let configuration: SignInConfiguration
    let relyingParties: [String: RelyingParty]
    let store: any ProviderTokenStore
    let vault: TokenVault
    let refreshes: TokenRefreshes
    let clock: WallClock
    let random: RandomSource
    let logger: Logger

    /// A resource, as the provider sent it: a JSON object or array.
    ///
    /// - Parameter holder: The session, whose client's tokens are used, and its user.
    /// - Throws: `not_found` for a provider or resource that is not configured; `grant_missing`, `grant_revoked`,
    ///   `carrier_error`, `carrier_timeout`, `temporarily_unavailable`, `server_error`.
    package func callAsFunction(
        _ name: String, of provider: String, for holder: SessionAndUser
    ) async throws(SignInError) -> [UInt8] {
        let correlationID = CorrelationID.random(from: random)
        do throws(SignInError) {
            guard let known = configuration.providers[provider], let relyingParty = relyingParties[provider] else {
                throw .unknownProvider
            }
            guard let url = known.resources[name] else { throw .unknownResource }
            guard let client = known.clients.values.first(where: { $0.id.text == holder.session.clientID }) else {
                throw .grantMissing
            }
            let metadata: ProviderMetadata
            do throws(OIDCError) {
                metadata = try await relyingParty.provider(
                    for: nil, clientID: client.id, correlationID: correlationID)
            } catch {
                throw SignInError(ofResource: error)
            }
            let grant = ProviderGrant(
                user: holder.user.id, provider: provider, client: client, relyingParty: relyingParty,
                metadata: metadata, correlationID: correlationID, store: store, vault: vault, refreshes: refreshes,
                clock: clock, logger: logger)
            let body = try await fetch(url, by: grant)
            log(provider, name, "fetched", .info, correlationID)
            return body
        } catch {
            log(provider, name, error.code.text, error.fault.logLevel, correlationID)
            throw error.with(correlationID)
        }
    }

    private func fetch(_ url: EndpointURL, by grant: ProviderGrant) async throws(SignInError) -> [UInt8] {
        // Some providers end a token before its announced expiry.
        var refused: Secret?
        for _ in 0..<2 {
            let token = try await grant.tokens(besides: refused).accessToken
            do throws(OIDCError) {
                let answer = try await grant.relyingParty.resource(url, accessToken: token, provider: grant.metadata)
                if case .json(let body) = answer { return body }
            } catch {
                throw SignInError(ofResource: error)
            }
            refused = token
        }
        let grant = ProviderGrant(
            user: user, provider: provider, client: client, relyingParty: relyingParty, metadata: metadata,
            correlationID: correlationID, store: store, vault: vault, refreshes: refreshes, clock: clock,
            logger: logger)
        let tokens = try await grant.tokens()
        if let body = try await fetch(url, with: tokens, from: relyingParty, metadata) { return body }
        // Some providers end tokens before the stated time.
        let newer = try await grant.tokens(besides: tokens.accessToken)
        if let body = try await fetch(url, with: newer, from: relyingParty, metadata) { return body }
        throw .resourceRefused
    }

    /// Nil if the provider refuses the access token.
    private func fetch(
        _ url: EndpointURL, with tokens: ProviderTokens, from relyingParty: RelyingParty, _ metadata: ProviderMetadata
    ) async throws(SignInError) -> [UInt8]? {
        do throws(OIDCError) {
            switch try await relyingParty.resource(url, accessToken: tokens.accessToken, provider: metadata) {
            case .json(let body): return body
            case .unauthorized: return nil
            }
        } catch {
            throw SignInError(ofResource: error)
        }
    }

    /// Logs only configured names, because a request could name anything.
    private func log(
        _ provider: String, _ name: String, _ outcome: String, _ level: Logger.Level, _ correlationID: CorrelationID
    ) {
        var metadata: Logger.Metadata = ["outcome": "\(outcome)", "correlation_id": "\(correlationID)"]
        if let known = configuration.providers[provider] {
            metadata["provider"] = "\(provider)"
            if known.resources[name] != nil { metadata["resource"] = "\(name)" }
        }
        logger.log(level: level, "provider resource", metadata: metadata)
    }
}
