import Logging
import OpenIDConnect
import Primitives
public import StorageModel

/// Fetches what a provider has for a user, with the tokens that the user's sign-in brought: for instance Zoom's ZAK.
///
/// Only what the operator has configured can be asked for, by its name; no URL and no parameter comes from a client.
public struct ProviderResources: Sendable {
    let configuration: SignInConfiguration
    let relyingParties: [String: RelyingParty]
    let store: any ProviderTokenStore
    let vault: TokenVault
    let refreshes: TokenRefreshes
    let clock: WallClock
    let random: RandomSource
    let logger: Logger

    /// A resource as the provider answers it: a JSON object or array.
    ///
    /// - Parameter holder: Sees what is stored for the client of the session, and nobody else's.
    /// - Throws: `not_found` for a provider or resource that is not configured; `grant_missing`, `grant_revoked`,
    ///   `carrier_error`, `carrier_timeout`, `temporarily_unavailable`, `server_error`.
    public func callAsFunction(
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
            let body = try await fetch(url, of: provider, relyingParty, client, holder.user.id, correlationID)
            log(provider, name, "fetched", .info, correlationID)
            return body
        } catch {
            log(provider, name, error.code.text, error.fault.logLevel, correlationID)
            throw error.with(correlationID)
        }
    }

    private func fetch(
        _ url: EndpointURL, of provider: String, _ relyingParty: RelyingParty, _ client: SignInConfiguration.Client,
        _ user: UserID, _ correlationID: CorrelationID
    ) async throws(SignInError) -> [UInt8] {
        let metadata: ProviderMetadata
        do throws(OIDCError) {
            metadata = try await relyingParty.provider(for: nil, clientID: client.id, correlationID: correlationID)
        } catch {
            throw SignInError(ofResource: error)
        }
        let grant = ProviderGrant(
            user: user, provider: provider, client: client, relyingParty: relyingParty, metadata: metadata,
            correlationID: correlationID, store: store, vault: vault, refreshes: refreshes, clock: clock,
            logger: logger)
        let tokens = try await grant.tokens()
        if let body = try await fetch(url, with: tokens, from: relyingParty, metadata) { return body }
        // Not all that say when a token ends keep to it.
        let newer = try await grant.tokens(besides: tokens.accessToken)
        if let body = try await fetch(url, with: newer, from: relyingParty, metadata) { return body }
        throw .resourceRefused
    }

    /// Nil if the access token is not taken.
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

    /// Names stand in the log once they are known to be some: the request could name anything.
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
