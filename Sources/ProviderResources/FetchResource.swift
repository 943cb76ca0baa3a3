import Logging
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel

/// Fetches a provider's resource for a user, such as Zoom's ZAK, with the tokens of the user's sign-in.
///
/// Only configured resources can be fetched, by name: no URL and no parameter comes from a client.
struct FetchResource: Sendable {
    let environment: Environment
    let store: SQLStore
    let vault: TokenVault
    let refreshes: TokenRefreshes

    /// A resource in the provider's form: a JSON object or array.
    ///
    /// - Parameter holder: The tokens of the session's user and client are used.
    /// - Throws: `not_found` for a provider or resource that is not configured; `invalid_request` for a provider with
    ///   mobile operators; `grant_missing`, `grant_revoked`, `carrier_error`, `carrier_timeout`,
    ///   `temporarily_unavailable`, `server_error`.
    func callAsFunction(
        _ name: String, of provider: String, for holder: SessionAndUser
    ) async throws(SignInError) -> [UInt8] {
        let correlationID = CorrelationID.random(from: environment.random)
        do throws(SignInError) {
            let server = try environment.providers.find(
                withoutOperators: provider, instead: "Only providers of the kinds oidc and oauth2 have resources."
            ).server
            guard let url = server.rules.resources[name] else { throw .unknownResource }
            guard let client = server.clients.values.first(where: { $0.id.text == holder.session.clientID }) else {
                throw .grantMissing
            }
            let metadata: ProviderMetadata
            do throws(OIDCError) {
                metadata = try await server.relyingParty.provider(
                    for: nil, clientID: client.id, correlationID: correlationID)
            } catch {
                throw SignInError(ofResource: error)
            }
            let grant = ProviderGrant(
                user: holder.user.id, provider: provider, client: client, relyingParty: server.relyingParty,
                metadata: metadata, correlationID: correlationID, store: store, vault: vault, refreshes: refreshes,
                environment: environment)
            let body = try await fetch(url, by: grant)
            log(provider, name, ["outcome": "fetched"], .info, correlationID)
            return body
        } catch {
            var cause: Logger.Metadata = [:]
            error.write(to: &cause, failedAt: nil)
            log(provider, name, cause, error.fault.logLevel, correlationID)
            throw error.with(correlationID)
        }
    }

    private func fetch(_ url: EndpointURL, by grant: ProviderGrant) async throws(SignInError) -> [UInt8] {
        // Some providers end a token before its announced expiry.
        var refused: Secret?
        for _ in 0..<2 {
            let tokens = try await grant.tokens(besides: refused)
            do throws(OIDCError) {
                let answer = try await grant.relyingParty.resource(
                    url, accessToken: tokens.accessToken, boundTo: tokens.accessTokenKey,
                    client: grant.client.credentials,
                    provider: grant.metadata, correlationID: grant.correlationID)
                if case .json(let body) = answer { return body }
            } catch {
                throw SignInError(ofResource: error)
            }
            refused = tokens.accessToken
        }
        throw .resourceRefused
    }

    /// Only configured names are logged: the request could name anything.
    private func log(
        _ provider: String, _ name: String, _ outcome: Logger.Metadata, _ level: Logger.Level,
        _ correlationID: CorrelationID
    ) {
        var metadata = outcome
        metadata["correlation_id"] = "\(correlationID)"
        if let known = environment.providers[provider]?.server {
            metadata["provider"] = "\(provider)"
            if known.rules.resources[name] != nil { metadata["resource"] = "\(name)" }
        }
        environment.logger.log(level: level, "provider resource", metadata: metadata)
    }
}
