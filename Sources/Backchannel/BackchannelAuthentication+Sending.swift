import OpenIDConnect
import Primitives
import SignIn
import StorageModel

/// What carriers and other providers are sent.
extension BackchannelAuthentication {
    /// Sends a request, and records the id that the provider gives it.
    /// - Parameters:
    ///   - record: As it is stored, with the latest request, which is not yet sent.
    ///   - token: For the notification of it.
    ///   - send: Sends it, once.
    func ask(
        _ context: BackchannelAuthenticationContext, _ asked: BackchannelAuthenticationRecord,
        _ prompt: BackchannelPrompt, under handle: Secret, _ token: NotificationToken,
        _ send: BackchannelAuthenticationContext.Sending
    ) async throws(SignInError) -> BackchannelAuthenticationStarted {
        context.log.begin(.request)
        let response: BackchannelAuthenticationResponse
        do throws(OIDCError) {
            response = try await send(token)
        } catch {
            context.log.begin(.store)
            count(error.isRefusal ? .refused : .failed)
            let refusal = SignInError.backchannelNotStarted(error)
            await giveUp(asked, refusal)
            // If the store fails here, the prompt still counts. That only makes the limit stricter.
            if error.showsNoPrompt { try? await store.takeBack(prompt) }
            throw refusal
        }
        count(.accepted)
        context.log.begin(.store)
        let id = TokenHash(sha256Of: response.requestID.exposed)
        var contradicts = false
        _ = try await change(asked) { (record, now) throws(SignInError) in
            guard record.notification == asked.notification else { return false }
            // The notification came before the response.
            if let known = record.carrierRequest, known != id {
                contradicts = true
                record.phase = .failed
                record.failure = .contradiction
                record.user = nil
                return true
            }
            record.carrierRequest = id
            record.polling?.accept(response, underHandle: handle, at: now)
            if record.phase == .pending { record.expiresAt = now.advanced(bySeconds: response.expiresIn) }
            record.removedAt = max(
                record.removedAt,
                now.advanced(bySeconds: response.expiresIn + Self.retention))
            return true
        }
        if contradicts { throw BackchannelAuthenticationFailure.contradiction.error }
        return BackchannelAuthenticationStarted(
            handle: handle, expiresIn: response.expiresIn, interval: asked.polling.map { _ in response.interval },
            correlationID: context.correlationID)
    }

    /// Records that a request failed. The record of a first request is removed, because its client never learns the
    /// handle. If the store fails, the record expires within a minute.
    private func giveUp(_ asked: BackchannelAuthenticationRecord, _ error: SignInError) async {
        _ = try? await change(asked) { (record, now) throws(SignInError) in
            guard record.notification == asked.notification else { return false }
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
    /// Sends a request that was checked, once. The token is for the provider's notification.
    typealias Sending = (NotificationToken) async throws(OIDCError) -> BackchannelAuthenticationResponse

    /// Checks that a request can be sent to a carrier, before it counts.
    func carrierRequest(notifiedAt endpoint: EndpointURL?) throws(SignInError) -> Sending {
        guard let carrier = terms.carrier else { throw .internalFault }
        guard let key = client.rules.signingKey else { throw .clientHasNoKey }
        guard let endpoint else { throw .addressUnknown }
        guard provider.serverInitiatedAuthorizationEndpoint != nil else { throw .carrierCannotStart }
        return { (token) async throws(OIDCError) in
            var request = ServerInitiatedAuthorizationRequest(
                clientID: client.id, redirectURI: carrier.redirectURI, loginHint: carrier.loginHint.text,
                demand: demand, state: token.state, nonce: token.nonce, correlationID: correlationID,
                notificationEndpoint: endpoint, notificationToken: token.text)
            request.options = carrier.options
            return try await relyingParty.start(request, signedWith: key, provider: provider)
        }
    }

    /// Checks that a request can be sent to a provider other than a carrier, before it counts. The provider has the
    /// notification endpoint in the client's registration.
    func providerRequest(
        _ message: BackchannelAuthenticationRequest, _ mode: BackchannelTokenDeliveryMode
    ) throws(SignInError) -> Sending {
        let metadata: BackchannelAuthenticationMetadata
        do throws(OIDCError) {
            metadata = try provider.metadataForBackchannelAuthentication()
        } catch {
            throw SignInError.carrierCannotStart.explained(by: error)
        }
        guard metadata.mayDeliver(by: mode) else { throw .deliveryModeNotSupported }
        guard message.userCode == nil || metadata.acceptsUserCode else { throw .userCodeNotSupported }
        let needsMessage = target.provider.openID?.requiresBindingMessage ?? false
        guard message.bindingMessage != nil || !needsMessage else { throw .bindingMessageMissing }
        return { (token) async throws(OIDCError) in
            var request = message
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
