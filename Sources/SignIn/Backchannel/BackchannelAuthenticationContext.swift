import OpenIDConnect
import Primitives
import StorageModel

/// One backchannel authentication with its client and provider, and what it asks of the provider.
struct BackchannelAuthenticationContext: UserVerification {
    let terms: BackchannelAuthenticationRecord.Terms
    let client: SignInConfiguration.Client
    let target: SignInTarget
    let carrier: ProviderMetadata
    /// Nil for a provider that is no carrier.
    let network: MCCMNC?
    let correlationID: CorrelationID
    let demand: AuthenticationDemand
    /// Of the step that needs it.
    let log: BackchannelAuthenticationLog

    var relyingParty: RelyingParty { target.relyingParty }
    /// How a provider that is no carrier delivers the tokens; nil for a carrier, whose notification has them.
    var deliveryMode: BackchannelTokenDeliveryMode? { target.provider.openID?.backchannelTokenDeliveryMode }

    func begin(_ step: SignInReport.Step) { log.begin(step) }

    /// Validates the ID token of a notification or a poll, and fetches the attributes if they are asked for.
    /// - Parameters:
    ///   - key: The key that the access token is bound to; nil for a Bearer token.
    ///   - requestID: The provider's id of the request, which the ID token may repeat (CIBA Core section 10.3.1).
    ///   - nonce: The nonce of the request, which the ID token may leave out; nil if it had none.
    ///   - tokens: The provider's tokens, if they are kept.
    func verify(
        _ idToken: Secret, _ accessToken: Secret?, boundTo key: DPoPKey? = nil, of requestID: Secret, nonce: Secret?,
        keeping tokens: TokenResponse? = nil, at now: Timestamp? = nil
    ) async throws(OIDCError) -> VerifiedSignIn {
        var expectation = expectation(nonce: nonce, accessToken: accessToken)
        expectation.nonceMayBeMissing = true
        expectation.requestID = requestID
        let verified = try await validate(idToken, expectation, from: carrier)
        let kept = tokens.flatMap { tokens in now.map { ProviderTokens(tokens, verified, at: $0) } }
        guard wantsAttributes, let accessToken else { return VerifiedSignIn(verified, nil, kept) }
        return VerifiedSignIn(
            verified, try await fetchAttributes(about: verified, with: accessToken, key, from: carrier), kept)
    }
}

extension AuthenticationDemand {
    /// What the record of a backchannel authentication says.
    init(_ terms: BackchannelAuthenticationRecord.Terms) {
        scopes = terms.scope.split(ascii: " ").map(String.init)
        acrValues = (terms.acrValues ?? "").split(ascii: " ").map(String.init)
        context = terms.context
        prompt = terms.prompt.map(Prompt.stored) ?? []
    }
}

extension BackchannelAuthentication {
    /// Checks a sign-in and finds its carrier.
    func context(
        of terms: BackchannelAuthenticationRecord.Terms, _ log: BackchannelAuthenticationLog
    ) async throws(SignInError) -> BackchannelAuthenticationContext {
        let target = try providers.find(ProviderReference(text: terms.provider))
        guard let id = ClientID(terms.clientID), let client = target.server.clients[id] else { throw .unknownClient }
        // The record has them as this server wrote them.
        let network = MCCMNC(terms.network)
        guard let correlationID = CorrelationID(terms.correlationID) else { throw .internalFault }
        if target.usesNetworkDiscovery {
            guard client.mayHaveNamed(terms.redirectURI) else {
                throw .redirectURINotRegistered(terms.redirectURI, among: client.redirectURIs)
            }
            guard network != nil else { throw .internalFault }
        } else {
            guard target.provider.openID?.backchannelTokenDeliveryMode != nil else { throw .backchannelOff }
            guard client.authentication != .publicClient else { throw .clientCannotAuthenticate }
        }
        let carrier = try await target.discover(network, for: id, correlationID)
        return BackchannelAuthenticationContext(
            terms: terms, client: client, target: target, carrier: carrier, network: network,
            correlationID: correlationID, demand: AuthenticationDemand(terms), log: log)
    }
}
