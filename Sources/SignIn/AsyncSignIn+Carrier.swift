import OpenIDConnect
import Primitives
import Storage

/// One server-initiated sign-in with whom to ask about it.
struct AsyncSignInPlan: Sendable {
    let terms: AsyncSignInRecord.Terms
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

extension AsyncSignIn {
    /// Finds the carrier for a sign-in that is asked for properly.
    func plan(_ terms: AsyncSignInRecord.Terms) async throws(SignInError) -> AsyncSignInPlan {
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
        return AsyncSignInPlan(
            terms: terms, client: client, relyingParty: relyingParty, carrier: carrier, correlationID: correlationID)
    }

    /// Sends a record's latest request, and notes what the carrier calls it.
    func ask(
        _ plan: AsyncSignInPlan, _ record: AsyncSignInRecord, _ token: NotificationToken, _ handle: Secret,
        _ endpoint: EndpointURL?, _ log: inout AsyncSignInLog
    ) async throws(SignInError) -> AsyncSignInStarted {
        log.begin(.request)
        let answer: ServerInitiatedAnswer
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
                record.failure = AsyncSignInFailure.contradiction.text
                record.forgetUser()
                return true
            }
            record.carrierRequest = id
            if record.phase == .waiting { record.expiresAt = now.advanced(bySeconds: answer.expiresIn) }
            record.removedAt = max(
                record.removedAt, now.advanced(bySeconds: answer.expiresIn + configuration.serverInitiated.retention))
            return true
        }
        if contradicts { throw AsyncSignInFailure.contradiction.error }
        return AsyncSignInStarted(handle: handle, expiresIn: answer.expiresIn, correlationID: plan.correlationID)
    }

    private func send(
        _ plan: AsyncSignInPlan, _ token: NotificationToken, _ endpoint: EndpointURL?
    ) async throws(SignInError) -> ServerInitiatedAnswer {
        guard let key = plan.client.signingKey else { throw .clientHasNoKey }
        guard let endpoint else { throw .addressUnknown }
        guard plan.carrier.serverInitiatedAuthorizationEndpoint != nil else { throw .carrierCannotStart }
        var request = ServerInitiatedRequest(
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
        case .carrierRefused, .clientRefused: .refusedAsync(error.carrierError ?? "unknown_error")
        default: SignInError(error)
        }
    }

    /// Notes that a request came to nothing. A first one goes: its client never learns the handle. If that cannot be
    /// noted, the record ends by itself within a minute.
    private func giveUp(_ record: AsyncSignInRecord, _ token: NotificationToken, _ error: SignInError) async {
        _ = try? await change(record) { (record, now) throws(SignInError) in
            guard record.notification == token.hash else { return false }
            record.phase = .failed
            record.failure = AsyncSignInFailure(ofSending: error).text
            record.forgetUser()
            record.removedAt =
                record.attempt == 1
                ? now : max(record.removedAt, now.advanced(bySeconds: configuration.serverInitiated.retention))
            return true
        }
    }
}
