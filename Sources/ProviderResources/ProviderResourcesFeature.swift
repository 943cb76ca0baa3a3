package import HTTPServer
import HTTPTypes
package import LatchkeyAPI
package import LatchkeyConfiguration
package import LatchkeyService
import Logging
import OpenIDConnect
import Primitives
package import SignIn
import Storage
package import StorageModel

/// The resources of providers (docs/providers.md), fetched with the tokens of the user's sign-in.
package struct ProviderResourcesFeature: Feature {
    private let store: SQLStore
    private let refreshes = TokenRefreshes(random: .system)

    package init(_ settings: NoSettings, in context: FeatureContext) { store = context.store }

    package var keepingRules: [WritableKeyPath<ServerRules, Bool>] { [\.storesTokens] }

    package func addRoutes(to router: inout Router, of api: LatchkeyAPI) {
        let fetch = FetchResource(
            environment: api.useCases.environment, store: store, vault: api.useCases.vault, refreshes: refreshes)
        router.get(
            "/auth/{provider}/resources/{name}",
            api.changing { _, request, caller in
                // The provider's JSON as it is; nothing else of its answer.
                let name = request.parameters["name"] ?? ""
                return .json(.ok, try await fetch(name, of: request.provider, for: caller.holder))
            })
    }

    package static var endsAccounts: Bool { true }

    package func erasing(_ user: UserID, with useCases: UseCases) async throws(SignInError) -> AccountEnding? {
        let environment = useCases.environment
        guard environment.providers.all.contains(where: { $0.server?.rules.storesTokens == true }) else { return nil }
        let records = try await mappingStoreErrors(await store.providerTokens(of: user))
        guard !records.isEmpty else { return nil }
        let vault = useCases.vault
        return {
            var lines: [String] = []
            for record in records {
                lines.append("\(record.binding.provider): " + (await Self.revoke(record, vault, in: environment)))
            }
            return lines
        }
    }

    /// Ends an erased user's consent at a provider, as far as the provider has an endpoint for that (RFC 7009). Apple
    /// demands it. A failure is logged: the account is erased all the same.
    private static func revoke(
        _ record: ProviderTokenRecord, _ vault: TokenVault, in environment: Environment
    ) async -> String {
        let (binding, correlationID) = (record.binding, CorrelationID.random(from: environment.random))
        guard let server = environment.providers[binding.provider]?.server,
            let client = server.clients.values.first(where: { $0.id.text == binding.clientID })
        else { return "not revoked, because the client \(binding.clientID) is not configured" }
        guard let tokens = try? vault.open(record) else { return "not revoked, because encryption_keys has no key" }
        var outcome: Logger.Metadata = [
            "provider": "\(binding.provider)", "outcome": "revoked", "correlation_id": "\(correlationID)",
        ]
        do throws(OIDCError) {
            let metadata = try await server.relyingParty.provider(
                for: nil, clientID: client.id, correlationID: correlationID)
            guard
                try await server.relyingParty.revoke(
                    (tokens.accessToken, tokens.refreshToken), client: client.credentials, provider: metadata,
                    correlationID: correlationID)
            else { return "not revoked, because the provider has no revocation endpoint" }
            environment.logger.info("provider tokens", metadata: outcome)
            return "the user's tokens are revoked"
        } catch {
            outcome["outcome"] = "not_revoked"
            outcome["cause"] = "\(error.reason)"
            environment.logger.warning("provider tokens", metadata: outcome)
            return "not revoked: \(error.reason)"
        }
    }

    package static let operations: [APIOperation] = [
        APIOperation(
            .get, "/auth/{provider}/resources/{name}", "showResource", .account, .session,
            "Show a provider's resource of the user",
            "Fetched with the provider's stored tokens, which are renewed as needed.",
            parameters: [
                .path("name", .text("One of the provider's `resources` in the configuration.", example: "zak"))
            ],
            responses: [
                .json(
                    "The provider's JSON, unchanged.",
                    .anyOf(
                        "An object or an array.",
                        [
                            .object("In the provider's own form.", [], isOpen: true),
                            .list("In the provider's own form.", of: .anyOf("Any value.", [.anything])),
                        ]), example: #"{"token": "eyJ6bV9za20iOiJ6bV9vMm0ifQ"}"#)
            ],
            refusals: [
                .providerUnknown, .carrierError, .carrierTimeout,
                APIRefusal(SignInError.grantMissing),
                APIRefusal(SignInError.grantRevoked),
            ])
    ]
}

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
            let metadata = try await mappingErrors(
                awaiting: try await server.relyingParty.provider(
                    for: nil, clientID: client.id, correlationID: correlationID),
                to: SignInError.init(ofResource:))
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

extension SignInError {
    static let unknownResource = SignInError(
        .notFound, .invalidRequest,
        "This provider has no resource of this name. Use a name from its configured resources.")

    static let grantMissing = SignInError(
        .grantMissing, .requestDenied,
        "No tokens of this provider are stored for this user and client. Sign the user in with the provider.")

    static let grantRevoked = SignInError(
        .grantRevoked, .requestDenied,
        "The provider or the user has revoked the user's consent. Sign the user in with the provider again.")

    static let grantLost = SignInError(
        .grantRevoked, .requestDenied,
        "The provider refuses the stored refresh token. The response to an earlier refresh was lost, and probably the "
            + "next token with it. Sign the user in with the provider again.")

    static func refreshedIDTokenInvalid(_ check: IDTokenCheck?) -> SignInError {
        let demand = check.map { " " + $0.demand.dropLast() + " (\($0.rawValue))." } ?? ""
        var error = SignInError(
            .grantRevoked, .requestDenied,
            "The provider refreshed the user's tokens with an ID token that is not valid." + demand
                + " Sign the user in with the provider again.", fault: .provider)
        error.check = check
        return error
    }

    static let grantContended = SignInError(
        .temporarilyUnavailable, .serverError,
        "Another instance is refreshing the provider's tokens. Send the same request again in a moment.", retryAfter: 1,
        fault: .ours)

    /// The row stays, because the key may be configured again.
    static let tokensUnreadable = SignInError(
        .serverError, .serverError,
        "The stored tokens of this provider cannot be decrypted. Sign the user in with the provider again; the "
            + "administrator must check encryption_keys.", fault: .ours)

    static let resourceRefused = carrierError(
        "The provider issues access tokens but does not accept them for this resource. The administrator must check "
            + "its URL and the client's scopes.")

    /// A provider's failure outside a sign-in.
    init(ofResource error: OIDCError) {
        switch error.code {
        case .timedOut, .unreachable, .overloaded, .suspended, .storeUnavailable, .clientRefused:
            self.init(error, advice: "Send the same request again in a moment.")
        case .metadataRefused: self.init(error)
        default:
            self = .carrierError("The provider's response cannot be used. \(error.reason) Try again later.")
                .explained(by: error)
        }
    }
}
