import OpenIDConnect
import Primitives

/// One sign-in that is asked for properly, with whom to ask about it: the steps at the carrier, each with its failure
/// told in the API's words.
struct SignInAtCarrier: Sendable {
    let request: SignInRequest
    let correlationID: CorrelationID
    let client: SignInConfiguration.Client
    private let discoveryUI: EndpointURL?
    let relyingParty: RelyingParty
    /// Whether the provider's tokens are kept.
    let storesTokens: Bool

    /// - Throws: What is wrong with the request for this provider and client.
    init(
        _ request: SignInRequest, _ correlationID: CorrelationID, _ configuration: SignInConfiguration,
        _ relyingParties: [String: RelyingParty]
    ) throws(SignInError) {
        guard let provider = configuration.providers[request.provider],
            let relyingParty = relyingParties[request.provider]
        else { throw .unknownProvider }
        guard let client = provider.clients[request.clientID] else { throw .unknownClient }
        guard request.wasStartedHere || client.mayHaveNamed(request.redirectURI) else {
            throw .redirectURINotRegistered
        }
        guard provider.kind != .oauth2 || !request.needsIDToken else { throw .nothingConfirms }
        guard client.pkce == .optional || request.codeVerifier != nil else { throw .codeVerifierMissing }
        guard client.nonce == .client || request.nonce != nil else { throw .nonceMissing }
        self.request = request
        self.correlationID = correlationID
        self.client = client
        self.relyingParty = relyingParty
        discoveryUI = provider.discoveryUI
        storesTokens = provider.storesTokens
    }

    /// Whether more is wanted of the user than who it is.
    var wantsAttributes: Bool {
        request.scopes.contains { $0 != "openid" } || client.scopes.contains { $0 != "openid" }
    }

    func findCarrier() async throws(SignInError) -> ProviderMetadata {
        do throws(OIDCError) {
            return try await relyingParty.provider(
                for: request.network, clientID: client.id, correlationID: correlationID)
        } catch {
            throw SignInError(error, discoveryUI: discoveryUI)
        }
    }

    /// Posts the code. It is spent after that, unless the error says that it did not leave.
    func exchangeCode(at carrier: ProviderMetadata) async throws(SignInError) -> TokenResponse {
        do throws(OIDCError) {
            return try await relyingParty.exchange(
                code: request.code, redirectURI: request.redirectURI, codeVerifier: request.codeVerifier,
                client: ClientCredentials(clientID: client.id, authentication: client.authentication),
                provider: carrier,
                correlationID: correlationID)
        } catch {
            throw SignInError(error)
        }
    }

    /// - Parameters:
    ///   - maximumAuthenticationAge: How many seconds ago the user may have authenticated; nil for any time.
    ///   - keyFetch: Is told where the carrier's keys have to be waited for.
    func validate(
        _ tokens: TokenResponse, from carrier: ProviderMetadata, maximumAuthenticationAge: Int64? = nil,
        keyFetch: (KeyFetch) -> Void
    ) async throws(SignInError) -> VerifiedIDToken {
        let expectation = IDTokenExpectation(
            clientID: client.id, nonce: request.nonce?.exposed, acrValues: request.acrValues,
            maximumAuthenticationAge: maximumAuthenticationAge, context: request.context,
            accessToken: tokens.accessToken)
        guard let idToken = tokens.idToken else { throw .nothingConfirms }
        do throws(OIDCError) {
            return try await relyingParty.validate(
                idToken: idToken, expecting: expectation, provider: carrier, keyFetch: keyFetch)
        } catch {
            throw SignInError(error, codeWasPosted: true)
        }
    }

    /// Who the user is, of a provider without ID tokens.
    func fetchUser(with tokens: TokenResponse, from provider: ProviderMetadata) async throws(SignInError)
        -> ProviderUser
    {
        do throws(OIDCError) {
            return try await relyingParty.user(accessToken: tokens.accessToken, provider: provider)
        } catch {
            throw SignInError(error, codeWasPosted: true)
        }
    }

    /// The attributes were asked for: without them there is no sign-in.
    func fetchAttributes(
        about idToken: VerifiedIDToken, with tokens: TokenResponse, from carrier: ProviderMetadata
    ) async throws(SignInError) -> UserInfo {
        do throws(OIDCError) {
            return try await relyingParty.userInfo(
                accessToken: tokens.accessToken, about: idToken, provider: carrier, correlationID: correlationID)
        } catch {
            throw SignInError(error, codeWasPosted: true)
        }
    }
}
