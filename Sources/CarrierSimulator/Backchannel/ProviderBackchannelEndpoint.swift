import HTTPServer
import HTTPTypes
import Primitives

/// An OpenID provider's backchannel authentication endpoint, in the modes poll and ping (CIBA Core section 7).
struct ProviderBackchannelEndpoint: Sendable {
    /// What the names of its faults begin with.
    static let faults = "ciba-"
    /// The user code of every user, while user codes are required.
    static let userCode = "2468"

    let simulator: CarrierSimulator

    /// `POST {issuer}/bc-authorize`. The request waits for the user's decision.
    func start(_ request: Request) async throws -> Response {
        try await simulator.serveForm(.backchannelAuthentication, request, faults: Self.faults) { site, form in
            guard site.hasBackchannelAuthentication
            else { throw OAuthError("unauthorized_client", "The provider has no backchannel authentication.") }
            try form.requireUniqueNames()
            let client = try ClientAuthenticator(
                simulator: simulator, site: site, endpoint: site.backchannelEndpoint, namesClientBesideBasic: true
            ).client(of: request, form: form)
            if let code = site.carrier.backchannelRefusal { throw OAuthError(code, "The simulator is set to refuse.") }
            let started = try started(form, client, site)
            let id = simulator.random.token(bytes: 24)
            simulator.withState { $0.polledRequests.put(started, for: id) }
            if site.has(.notificationBeforeResponse) { _ = try await simulator.complete(id, .approved) }
            return .json(site.edited(members(id, of: started, at: site), at: .backchannelAuthentication))
        }
    }

    private func members(_ id: String, of request: PolledRequest, at site: CarrierSite) -> JSONMembers {
        var members: JSONMembers = ["interval": .integer(request.interval)]
        if !site.has(.cibaMissingID) { members["auth_req_id"] = .string(id) }
        if !site.has(.cibaMissingExpiresIn) { members["expires_in"] = .integer(request.lifetime) }
        return members
    }

    private func started(
        _ form: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite
    ) throws(OAuthError) -> PolledRequest {
        let now = simulator.clock.now()
        let parameters = try form.openedAuthenticationRequest(at: site, client: client, now: now)
        let scopes = try Scopes.parse(parameters["scope"] ?? "", ofOpenID: true)
        let user = try simulator.user(hintedBy: parameters, at: site, client: client)
        try check(parameters, at: site)
        let terms = GrantTerms(
            clientID: client.id, scopes: scopes, acr: try AuthorizationRequest.acr(parameters["acr_values"]))
        let notification = try notification(parameters, client, site)
        return PolledRequest(
            .byProvider(.init(terms: terms, userID: user.id, notification: notification)), mccmnc: site.mccmnc,
            clientID: client.id, at: now, lifetime: try lifetime(parameters),
            interval: site.has(.cibaLongInterval) ? 31 : PolledRequest.usualInterval)
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
        guard parameters.has("requested_expiry") else { return PolledRequest.usualLifetime }
        guard let seconds = parameters["requested_expiry"].flatMap({ Int64($0) }), seconds > 0
        else { throw .invalidRequest("The requested_expiry is not a positive number.") }
        return min(seconds, PolledRequest.usualLifetime)
    }

    /// Where to notify the client, and with which token; nil for a client that is registered for the mode poll.
    private func notification(
        _ parameters: Parameters, _ client: CarrierSimulator.Client, _ site: CarrierSite
    ) throws(OAuthError) -> PolledGrant.Notification? {
        guard let url = simulator.notificationURL(of: client.id, at: site.mccmnc) else { return nil }
        // CIBA Core section 7.1: at most 1024 characters, and 128 bits: 22 characters of base64url.
        guard let token = parameters["client_notification_token"], (22...1024).contains(token.utf8.count)
        else { throw .invalidRequest("The client_notification_token is missing, too short or too long.") }
        return PolledGrant.Notification(url: url, token: token)
    }
}

/// A request that a user of an OpenID provider approves or denies, and the client that is notified of the decision.
struct PolledGrant: Sendable {
    /// Where the mode ping notifies the client (CIBA Core section 10.2).
    struct Notification: Sendable {
        let url: NotificationURL
        let token: String
    }

    let terms: GrantTerms
    let userID: String
    let notification: Notification?
}

extension CarrierSite {
    /// Whether it is an OpenID provider other than a carrier, and has CIBA.
    var hasBackchannelAuthentication: Bool {
        !carrier.isCarrier && carrier.hasIDTokens && carrier.operatorProfile == nil && !has(.discoveryNoBackchannel)
    }
}
