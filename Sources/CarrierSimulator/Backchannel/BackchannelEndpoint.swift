import HTTPServer
import HTTPTypes
import Primitives

/// The backchannel authentication endpoint of an OpenID provider, in the modes poll and ping (CIBA Core section 7), or
/// of an operator, in the mode poll.
struct BackchannelEndpoint: Sendable {
    /// The user code of every user, while user codes are required.
    static let userCode = "2468"

    let simulator: CarrierSimulator

    /// `POST {issuer}/bc-authorize`. The request waits for the user's decision. An operator token is approved without
    /// the user.
    func start(_ request: Request) async throws -> Response {
        try await simulator.serveForm(.backchannelAuthentication, request, faults: "ciba-") { site, form in
            let isOperator = site.carrier.operatorProfile != nil
            guard isOperator || site.hasBackchannelAuthentication
            else { throw OAuthError("unauthorized_client", "The provider has no backchannel authentication.") }
            try form.requireUniqueNames()
            let client = try ClientAuthenticator(simulator: simulator, site: site, endpoint: site.backchannelEndpoint)
                .client(of: request, form: form)
            if let code = site.carrier.backchannelRefusal { throw OAuthError(code, "The simulator is set to refuse.") }
            let started =
                try isOperator ? startedAtOperator(form, client, site) : startedAtProvider(form, client, site)
            let id = simulator.random.token(bytes: 24)
            simulator.withState { $0.backchannelRequests.put(started, for: id) }
            if site.has(.notificationBeforeResponse) { _ = try await simulator.complete(id, .approved) }
            var members: JSONMembers = ["interval": .integer(started.interval)]
            if !site.has(.cibaMissingID) { members["auth_req_id"] = .string(id) }
            if !site.has(.cibaMissingExpiresIn) { members["expires_in"] = .integer(started.lifetime) }
            return .json(site.edited(members, at: .backchannelAuthentication))
        }
    }

    private func startedAtProvider(
        _ form: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite
    ) throws(OAuthError) -> BackchannelRequest {
        let now = simulator.clock.now()
        // Nothing but the client's authentication may be outside the request object.
        let beside = ClientAuthenticator.credentials.union(["request", "client_id"])
        guard !form.has("request") || form.items.allSatisfy({ beside.contains($0.name) })
        else { throw .invalidRequest("There is a parameter beside the request object.") }
        let parameters = try form.openedByProfile(
            at: site, endpoint: site.backchannelEndpoint, client: client, repeated: [], needsStart: true, now: now)
        let scopes = try Scopes.parse(parameters["scope"] ?? "", ofOpenID: true)
        let user = try simulator.user(hintedBy: parameters, at: site, client: client)
        try check(parameters, at: site)
        let terms = GrantTerms(
            clientID: client.id, scopes: scopes, acr: try AuthorizationRequest.acr(parameters["acr_values"]))
        return BackchannelRequest(
            grant: Grant(mccmnc: site.mccmnc, terms: terms, user: user, approvedAt: now),
            notification: try notification(parameters, client, site), startedAt: now,
            lifetime: try lifetime(parameters),
            interval: site.has(.cibaLongInterval) ? 31 : BackchannelRequest.usualInterval)
    }

    private func startedAtOperator(
        _ form: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite
    ) throws(OAuthError) -> BackchannelRequest {
        let now = simulator.clock.now()
        let parameters = try form.openedByProfile(
            at: site, endpoint: site.backchannelEndpoint, client: client, repeated: [], now: now)
        guard !parameters.has("login_hint_token"), !parameters.has("id_token_hint")
        else { throw .invalidRequest("The login_hint must be the only hint.") }
        guard let hint = parameters["login_hint"] else { throw .invalidRequest("There is no login_hint.") }
        let scopes = try OperatorScopes(parameters["scope"], at: site)
        guard scopes.names.contains("openid") else { throw .invalidRequest("The scope must contain openid.") }
        let (user, isAuthenticated) = try simulator.subscriber(
            hintedBy: hint, at: site, or: OAuthError("unknown_user_id", "The login_hint names no subscriber."))
        if site.has(.operatorConsentRequired) {
            throw OAuthError("access_denied", "The user has not consented.", status: .forbidden)
        }
        let grant = Grant(
            mccmnc: site.mccmnc, terms: scopes.terms(for: client), user: user, isAuthenticated: isAuthenticated,
            approvedAt: now)
        return BackchannelRequest(grant: grant, startedAt: now, decision: isAuthenticated ? .approved : nil)
    }

    /// The binding message and the user code.
    private func check(_ parameters: Parameters, at site: CarrierSite) throws(OAuthError) {
        // What a phone can show; the specification leaves the limit to the provider.
        guard (parameters["binding_message"]?.unicodeScalars.count ?? 0) <= 64
        else { throw OAuthError("invalid_binding_message", "The binding_message is too long.") }
        guard site.has(.cibaUserCode) else { return }
        guard let code = parameters["user_code"]
        else { throw OAuthError("missing_user_code", "The user has a user_code.") }
        guard code == Self.userCode else { throw OAuthError("invalid_user_code", "The user_code is wrong.") }
    }

    private func lifetime(_ parameters: Parameters) throws(OAuthError) -> Int64 {
        guard parameters.has("requested_expiry") else { return BackchannelRequest.usualLifetime }
        guard let seconds = parameters["requested_expiry"].flatMap({ Int64($0) }), seconds > 0
        else { throw .invalidRequest("The requested_expiry is not a positive number.") }
        return min(seconds, BackchannelRequest.usualLifetime)
    }

    /// Where to notify the client, and with which token; nil for a client that is registered for the mode poll.
    private func notification(
        _ parameters: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite
    ) throws(OAuthError) -> BackchannelRequest.Notification? {
        guard let url = simulator.withState({ $0.notificationURLs["\(site.mccmnc) \(client.id)"] })
        else { return nil }
        // CIBA Core section 7.1: at most 1024 characters, and 128 bits: 22 characters of base64url.
        guard let token = parameters["client_notification_token"], (22...1024).contains(token.utf8.count)
        else { throw .invalidRequest("The client_notification_token is missing, too short or too long.") }
        return .init(url: url, token: token)
    }
}

extension CarrierSite {
    /// Whether it is an OpenID provider other than a carrier, and has CIBA.
    var hasBackchannelAuthentication: Bool {
        !carrier.isCarrier && carrier.hasIDTokens && carrier.operatorProfile == nil && !has(.discoveryNoBackchannel)
    }
}
