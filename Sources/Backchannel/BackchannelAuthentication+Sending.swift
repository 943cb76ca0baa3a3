import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// What carriers and other providers are sent.
extension BackchannelAuthentication {
    /// A request in the protocol of its provider, besides what its record has.
    enum AuthenticationRequest {
        /// To a carrier.
        case carrier(
            BackchannelAuthenticationParameters.CarrierRequest, key: ClientKey, notificationEndpoint: EndpointURL)
        /// To another provider, which has the notification endpoint in the client's registration.
        case provider(BackchannelAuthenticationRequest, BackchannelTokenDeliveryMode)

        var deliveryMode: BackchannelTokenDeliveryMode? {
            guard case .provider(_, let mode) = self else { return nil }
            return mode
        }
    }

    /// Checks that a request can be sent to a provider other than a carrier, before it counts.
    func authenticationRequest(
        _ request: BackchannelAuthenticationParameters.ProviderRequest, to context: BackchannelAuthenticationContext,
        _ mode: BackchannelTokenDeliveryMode
    ) throws(SignInError) -> AuthenticationRequest {
        let metadata: BackchannelAuthenticationMetadata
        do throws(OIDCError) {
            metadata = try context.provider.metadataForBackchannelAuthentication()
        } catch {
            throw SignInError.carrierCannotStart.explained(by: error)
        }
        guard metadata.mayDeliver(by: mode) else { throw .deliveryModeNotSupported }
        guard request.userCode == nil || metadata.acceptsUserCode else { throw .userCodeNotSupported }
        let needsMessage = context.target.provider.openID?.requiresBindingMessage ?? false
        guard request.bindingMessage != nil || !needsMessage else { throw .bindingMessageMissing }
        var message = BackchannelAuthenticationRequest(scopes: context.demand.scopes, hint: request.user.hint)
        message.bindingMessage = request.bindingMessage
        message.acrValues = context.demand.acrValues
        message.requestedExpiry = request.requestedExpiry
        message.userCode = request.userCode
        return .provider(message, mode)
    }

    /// The latest request of a record, not yet sent.
    struct NewRequest {
        let record: BackchannelAuthenticationRecord
        let prompt: BackchannelPrompt
        let token: NotificationToken
        let handle: Secret
        let message: AuthenticationRequest
    }

    /// Sends a request, and records the id that the provider gives it.
    func ask(
        _ context: BackchannelAuthenticationContext, _ request: NewRequest, _ log: BackchannelAuthenticationLog
    ) async throws(SignInError) -> BackchannelAuthenticationStarted {
        log.begin(.request)
        let response: BackchannelAuthenticationResponse
        do throws(OIDCError) {
            response = try await context.send(request.message, request.token)
        } catch {
            log.begin(.store)
            count(error.isRefusal ? .refused : .failed)
            let refusal = SignInError.backchannelNotStarted(error)
            await giveUp(request, refusal)
            // If the store fails here, the prompt still counts. That only makes the limit stricter.
            if error.showsNoPrompt { try? await store.takeBack(request.prompt) }
            throw refusal
        }
        count(.accepted)
        log.begin(.store)
        let id = TokenHash(sha256Of: response.requestID.exposed)
        var contradicts = false
        _ = try await change(request.record) { (record, now) throws(SignInError) in
            guard record.notification == request.token.hash else { return false }
            // The notification came before the response.
            if let known = record.carrierRequest, known != id {
                contradicts = true
                record.phase = .failed
                record.failure = .contradiction
                record.user = nil
                return true
            }
            record.carrierRequest = id
            record.polling?.accept(response, underHandle: request.handle, at: now)
            if record.phase == .pending { record.expiresAt = now.advanced(bySeconds: response.expiresIn) }
            record.removedAt = max(
                record.removedAt,
                now.advanced(bySeconds: response.expiresIn + Self.retention))
            return true
        }
        if contradicts { throw BackchannelAuthenticationFailure.contradiction.error }
        return BackchannelAuthenticationStarted(
            handle: request.handle, expiresIn: response.expiresIn,
            interval: request.message.deliveryMode.map { _ in response.interval }, correlationID: context.correlationID)
    }

    /// Records that a request failed. The record of a first request is removed, because its client never learns the
    /// handle. If the store fails, the record expires within a minute.
    private func giveUp(_ request: NewRequest, _ error: SignInError) async {
        _ = try? await change(request.record) { (record, now) throws(SignInError) in
            guard record.notification == request.token.hash else { return false }
            record.phase = .failed
            record.failure = .request(error)
            record.user = nil
            record.removedAt =
                record.attempt == 1
                ? now
                : max(record.removedAt, now.advanced(bySeconds: Self.retention))
            return true
        }
    }
}

extension BackchannelAuthenticationContext {
    /// Checks that a request can be sent to a carrier, before it counts.
    func carrierRequest(
        notifiedAt endpoint: EndpointURL?
    ) throws(SignInError) -> BackchannelAuthentication.AuthenticationRequest {
        guard let carrier = terms.carrier else { throw .internalFault }
        guard let key = client.rules.signingKey else { throw .clientHasNoKey }
        guard let endpoint else { throw .addressUnknown }
        guard provider.serverInitiatedAuthorizationEndpoint != nil else { throw .carrierCannotStart }
        return .carrier(carrier, key: key, notificationEndpoint: endpoint)
    }

    /// Sends a request, once.
    func send(
        _ message: BackchannelAuthentication.AuthenticationRequest, _ token: NotificationToken
    ) async throws(OIDCError) -> BackchannelAuthenticationResponse {
        switch message {
        case .carrier(let carrier, let key, let endpoint):
            var request = ServerInitiatedAuthorizationRequest(
                clientID: client.id, redirectURI: carrier.redirectURI, loginHint: carrier.loginHint.text,
                scopes: demand.scopes,
                state: token.state, nonce: token.nonce, correlationID: correlationID, notificationEndpoint: endpoint,
                notificationToken: token.text)
            request.acrValues = demand.acrValues
            request.context = demand.context
            request.prompt = demand.prompt
            request.options = carrier.options
            return try await relyingParty.start(request, signedWith: key, provider: provider)
        case .provider(var request, let mode):
            if mode == .ping { request.notificationToken = token.text }
            return try await relyingParty.authenticate(
                request, client: client.credentials, signedWith: client.rules.signingKey, provider: provider,
                correlationID: correlationID)
        }
    }
}

extension SignInError {
    /// The request to authenticate the user failed.
    static func backchannelNotStarted(_ error: OIDCError) -> SignInError {
        guard error.isRefusal, !error.wasRefusedLocally else { return SignInError(error) }
        return .refusedBackchannel(error.carrierError ?? "unknown_error").explained(by: error)
    }
}

extension OIDCError {
    /// Whether the provider refused a request.
    var isRefusal: Bool { code == .carrierRefused || code == .clientRefused }

    /// Whether this server sent nothing, because the provider's metadata does not allow the client's request.
    fileprivate var wasRefusedLocally: Bool { code == .clientRefused && carrierError == nil }

    /// Whether it is certain that the user was not prompted: the provider got no request because its circuit breaker is
    /// open, or it refused the request itself. After any other failure the user may have been.
    fileprivate var showsNoPrompt: Bool {
        guard isRefusal, let carrierError else { return code == .suspended || wasRefusedLocally }
        // A caller that guesses user codes must not have as many guesses as it likes.
        if carrierError == "invalid_user_code" { return false }
        return switch ErrorType(carrierError: carrierError) {
        case .configurationError, .discoveryStateError, .invalidRequest: true
        // The other codes of this type are the user's answer.
        case .requestDenied: carrierError == "device_unavailable"
        case .networkFailure, .requestTimeout, .serverError, .unknownError: false
        }
    }
}
