import OpenIDConnect
import Primitives
import StorageModel

/// One server-initiated sign-in with whom to ask about it.
struct BackchannelAuthenticationPlan: Sendable {
    let terms: BackchannelAuthenticationRecord.Terms
    let client: SignInConfiguration.Client
    let relyingParty: RelyingParty
    let carrier: ProviderMetadata
    let correlationID: CorrelationID

    var scopes: [String] { Self.words(terms.scope) }
    var acrValues: [String] { Self.words(terms.acrValues) }
    var prompt: [String] { Self.words(terms.prompt) }
    /// Whether more is wanted of the user than who it is.
    var wantsAttributes: Bool { (scopes + client.scopes).contains { $0 != "openid" } }

    private static func words(_ text: String?) -> [String] {
        (text ?? "").split(separator: " ").map(String.init)
    }
}

extension BackchannelAuthentication {
    /// Finds the carrier for a sign-in that is asked for properly.
    func plan(_ terms: BackchannelAuthenticationRecord.Terms) async throws(SignInError) -> BackchannelAuthenticationPlan
    {
        guard let provider = configuration.providers[terms.provider],
            let relyingParty = relyingParties[terms.provider]
        else { throw .unknownProvider }
        guard let id = ClientID(terms.clientID), let client = provider.clients[id] else { throw .unknownClient }
        guard client.mayHaveNamed(terms.redirectURI) else { throw .redirectURINotRegistered }
        // Read from where they were written; what does not read is not ours.
        guard let network = MCCMNC(terms.network), let correlationID = CorrelationID(terms.correlationID) else {
            throw .internalFault
        }
        let carrier: ProviderMetadata
        do throws(OIDCError) {
            carrier = try await relyingParty.provider(for: network, clientID: id, correlationID: correlationID)
        } catch {
            throw SignInError(error, discoveryUI: provider.discoveryUI)
        }
        return BackchannelAuthenticationPlan(
            terms: terms, client: client, relyingParty: relyingParty, carrier: carrier, correlationID: correlationID)
    }

    /// Sends a record's latest request, and notes what the carrier calls it.
    func ask(
        _ plan: BackchannelAuthenticationPlan, _ record: BackchannelAuthenticationRecord, _ token: NotificationToken,
        _ handle: Secret,
        _ endpoint: EndpointURL?, _ log: inout BackchannelAuthenticationLog
    ) async throws(SignInError) -> BackchannelAuthenticationStarted {
        log.begin(.request)
        let answer: BackchannelAuthenticationResponse
        do throws(SignInError) {
            answer = try await send(plan, token, endpoint)
        } catch {
            log.begin(.store)
            await giveUp(record, token, error)
            throw error
        }
        log.begin(.store)
        let id = try TokenHash(sha256Of: answer.requestID.exposed)
        var contradicts = false
        _ = try await change(record) { (record, now) throws(SignInError) in
            guard record.notification == token.hash else { return false }
            // The notification was quicker than the answer.
            if let known = record.carrierRequest, known != id {
                contradicts = true
                record.phase = .failed
                record.failure = BackchannelAuthenticationFailure.contradiction.text
                record.forgetUser()
                return true
            }
            record.carrierRequest = id
            if record.phase == .waiting { record.expiresAt = now.advanced(bySeconds: answer.expiresIn) }
            record.removedAt = max(
                record.removedAt, now.advanced(bySeconds: answer.expiresIn + configuration.serverInitiated.retention))
            return true
        }
        if contradicts { throw BackchannelAuthenticationFailure.contradiction.error }
        return BackchannelAuthenticationStarted(
            handle: handle, expiresIn: answer.expiresIn, correlationID: plan.correlationID)
    }

    private func send(
        _ plan: BackchannelAuthenticationPlan, _ token: NotificationToken, _ endpoint: EndpointURL?
    ) async throws(SignInError) -> BackchannelAuthenticationResponse {
        guard let key = plan.client.signingKey else { throw .clientHasNoKey }
        guard let endpoint else { throw .addressUnknown }
        guard plan.carrier.backchannelAuthenticationEndpoint != nil else { throw .carrierCannotStart }
        var request = BackchannelAuthenticationRequest(
            clientID: plan.client.id, redirectURI: plan.terms.redirectURI, loginHint: plan.terms.loginHint,
            scopes: plan.scopes, state: token.state, nonce: token.nonce, correlationID: plan.correlationID,
            notificationEndpoint: endpoint, notificationToken: token.text)
        request.acrValues = plan.acrValues
        request.context = plan.terms.context
        request.prompt = plan.prompt
        request.options = plan.terms.options
        do throws(OIDCError) {
            return try await plan.relyingParty.start(
                request, signedWith: key, provider: plan.carrier)
        } catch {
            throw Self.refusal(error)
        }
    }

    private static func refusal(_ error: OIDCError) -> SignInError {
        switch error.code {
        case .carrierRefused, .clientRefused: .refusedBackchannel(error.carrierError ?? "unknown_error")
        default: SignInError(error)
        }
    }

    /// Notes that a request came to nothing. A first one goes: its client never learns the handle. If that cannot be
    /// noted, the record ends by itself within a minute.
    private func giveUp(_ record: BackchannelAuthenticationRecord, _ token: NotificationToken, _ error: SignInError)
        async
    {
        _ = try? await change(record) { (record, now) throws(SignInError) in
            guard record.notification == token.hash else { return false }
            record.phase = .failed
            record.failure = BackchannelAuthenticationFailure(ofSending: error).text
            record.forgetUser()
            record.removedAt =
                record.attempt == 1
                ? now : max(record.removedAt, now.advanced(bySeconds: configuration.serverInitiated.retention))
            return true
        }
    }
}
