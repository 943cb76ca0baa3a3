import OpenIDConnect
import Primitives
import StorageModel

/// One backchannel authentication with its client and carrier.
struct BackchannelAuthenticationContext: Sendable {
    let terms: BackchannelAuthenticationRecord.Terms
    let client: SignInConfiguration.Client
    let relyingParty: RelyingParty
    let carrier: ProviderMetadata
    let network: MCCMNC
    let correlationID: CorrelationID

    var scopes: [String] { Self.words(terms.scope) }
    var acrValues: [String] { Self.words(terms.acrValues) }
    var prompt: [Prompt] { terms.prompt.map(Prompt.stored) ?? [] }
    /// Whether the user's attributes are asked for.
    var wantsAttributes: Bool { (scopes + client.scopes).contains { $0 != "openid" } }

    private static func words(_ text: String?) -> [String] {
        (text ?? "").split(ascii: " ").map(String.init)
    }
}

extension BackchannelAuthentication {
    /// Checks a sign-in and finds its carrier.
    func context(
        of terms: BackchannelAuthenticationRecord.Terms
    ) async throws(SignInError) -> BackchannelAuthenticationContext {
        guard let provider = configuration.providers[terms.provider],
            let relyingParty = relyingParties[terms.provider]
        else { throw .unknownProvider }
        guard let id = ClientID(terms.clientID), let client = provider.clients[id] else { throw .unknownClient }
        guard client.mayHaveNamed(terms.redirectURI) else { throw .redirectURINotRegistered }
        // The record has them as this server wrote them.
        guard let network = MCCMNC(terms.network), let correlationID = CorrelationID(terms.correlationID) else {
            throw .internalFault
        }
        let carrier = try await asked(
            await relyingParty.provider(for: network, clientID: id, correlationID: correlationID),
            discoveryUI: provider.discoveryUI)
        return BackchannelAuthenticationContext(
            terms: terms, client: client, relyingParty: relyingParty, carrier: carrier, network: network,
            correlationID: correlationID)
    }

    /// What every request needs, besides its record.
    struct Means {
        let key: ClientKey
        let endpoint: EndpointURL
    }

    /// Checks that a request can be sent, before it counts.
    func means(
        of context: BackchannelAuthenticationContext, _ endpoint: EndpointURL?
    ) throws(SignInError) -> Means {
        guard let key = context.client.signingKey else { throw .clientHasNoKey }
        guard let endpoint else { throw .addressUnknown }
        guard context.carrier.serverInitiatedAuthorizationEndpoint != nil else { throw .carrierCannotStart }
        return Means(key: key, endpoint: endpoint)
    }

    /// The latest request of a record, not yet sent.
    struct NewRequest {
        let record: BackchannelAuthenticationRecord
        let prompt: BackchannelPrompt
        let token: NotificationToken
        let handle: Secret
        let means: Means
    }

    /// Sends a request, and records the id that the carrier gives it.
    func ask(
        _ context: BackchannelAuthenticationContext, _ request: NewRequest, _ log: inout BackchannelAuthenticationLog
    ) async throws(SignInError) -> BackchannelAuthenticationStarted {
        log.begin(.request)
        let response: BackchannelAuthenticationResponse
        do throws(OIDCError) {
            response = try await send(context, request.token, request.means)
        } catch {
            log.begin(.store)
            prompts.count(error.isRefusal ? .refused : .failed)
            let refusal = Self.refusal(error)
            await giveUp(request, refusal)
            // If the store fails here, the prompt still counts. That only makes the limit stricter.
            if error.showsNoPrompt { try? await store.takeBack(request.prompt) }
            throw refusal
        }
        prompts.count(.accepted)
        log.begin(.store)
        let id = TokenHash(sha256Of: response.requestID.exposed)
        var contradicts = false
        _ = try await change(request.record) { (record, now) throws(SignInError) in
            guard record.notification == request.token.hash else { return false }
            // The notification came before the response.
            if let known = record.carrierRequest, known != id {
                contradicts = true
                record.phase = .failed
                record.failure = BackchannelAuthenticationFailure.contradiction.text
                record.forgetUser()
                return true
            }
            record.carrierRequest = id
            if record.phase == .pending { record.expiresAt = now.advanced(bySeconds: response.expiresIn) }
            record.removedAt = max(
                record.removedAt,
                now.advanced(bySeconds: response.expiresIn + configuration.backchannelAuthentication.retention))
            return true
        }
        if contradicts { throw BackchannelAuthenticationFailure.contradiction.error }
        return BackchannelAuthenticationStarted(
            handle: request.handle, expiresIn: response.expiresIn, correlationID: context.correlationID)
    }

    private func send(
        _ context: BackchannelAuthenticationContext, _ token: NotificationToken, _ means: Means
    ) async throws(OIDCError) -> BackchannelAuthenticationResponse {
        var request = ServerInitiatedAuthorizationRequest(
            clientID: context.client.id, redirectURI: context.terms.redirectURI, loginHint: context.terms.loginHint,
            scopes: context.scopes, state: token.state, nonce: token.nonce, correlationID: context.correlationID,
            notificationEndpoint: means.endpoint, notificationToken: token.text)
        request.acrValues = context.acrValues
        request.context = context.terms.context
        request.prompt = context.prompt
        request.options = context.terms.options
        return try await context.relyingParty.start(request, signedWith: means.key, provider: context.carrier)
    }

    private static func refusal(_ error: OIDCError) -> SignInError {
        error.isRefusal
            ? .refusedBackchannel(error.carrierError ?? "unknown_error").explained(by: error) : SignInError(error)
    }

    /// Records that a request failed. The record of a first request is removed, because its client never learns the
    /// handle. If the store fails, the record expires within a minute.
    private func giveUp(_ request: NewRequest, _ error: SignInError) async {
        _ = try? await change(request.record) { (record, now) throws(SignInError) in
            guard record.notification == request.token.hash else { return false }
            record.phase = .failed
            record.failure = BackchannelAuthenticationFailure(ofSending: error).text
            record.forgetUser()
            record.removedAt =
                record.attempt == 1
                ? now
                : max(record.removedAt, now.advanced(bySeconds: configuration.backchannelAuthentication.retention))
            return true
        }
    }
}

extension OIDCError {
    /// Whether the carrier refused a request.
    fileprivate var isRefusal: Bool { code == .carrierRefused || code == .clientRefused }

    /// Whether it is certain that the user was not prompted: the carrier got no request because its circuit breaker is
    /// open, or it refused the request itself. After any other failure the user may have been.
    fileprivate var showsNoPrompt: Bool {
        guard isRefusal, let carrierError else { return code == .suspended }
        return switch ErrorType(carrierError: carrierError) {
        case .configurationError, .discoveryStateError, .invalidRequest: true
        // The other codes of this type are the user's answer.
        case .requestDenied: carrierError == "device_unavailable"
        case .networkFailure, .requestTimeout, .serverError, .unknownError: false
        }
    }
}
