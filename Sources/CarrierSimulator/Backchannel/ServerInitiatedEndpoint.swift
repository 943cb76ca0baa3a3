import HTTPServer
import HTTPTypes
import Primitives

/// A carrier's backchannel authentication endpoint (ZenKey's server-initiated sign-in): the user is asked on their
/// phone.
struct ServerInitiatedEndpoint: Sendable {
    /// How long the user may take to respond, in seconds.
    private static let lifetime: Int64 = 300

    let simulator: CarrierSimulator

    /// `POST {issuer}/server-initiated`: a request object in JSON or a form. The response has `auth_req_id`.
    func start(_ request: Request) async throws -> Response {
        try await simulator.serveForm(
            .backchannelAuthentication, request, faults: "server-initiated-", reading: Parameters.init(contentOf:)
        ) { site, parameters in
            let started = try started(parameters, site)
            if site.has(.backchannelUserUnsupported) {
                throw OAuthError("user_unsupported", "The user cannot be asked.")
            }
            let id = simulator.random.token(bytes: 24)
            simulator.withState { $0.backchannelRequests.put(started, for: id) }
            if site.has(.notificationBeforeResponse) { _ = try await simulator.complete(id, .approved) }
            var members = JSONMembers()
            if !site.has(.backchannelMissingID) { members["auth_req_id"] = .string(id) }
            members["expires_in"] =
                site.carrier.writesExpiresInAsText ? .string("\(Self.lifetime)") : .integer(Self.lifetime)
            members["correlation_id"] = .string(parameters["correlation_id"])
            return .json(members)
        }
    }

    /// Everything that matters is in the signed request object.
    private func started(_ parameters: Parameters, _ site: CarrierSite) throws(OAuthError) -> BackchannelRequest {
        guard let client = parameters["client_id"].flatMap({ simulator.clients[$0] })
        else { throw OAuthError("unauthorized_client", "The client_id is missing or unknown.", status: .unauthorized) }
        guard parameters["response_type"] == "async_token"
        else { throw OAuthError("unsupported_response_type", "The response_type must be async_token.") }
        guard let text = parameters["request"] else { throw .invalidRequest("There is no request object.") }
        guard let object = ReceivedJWS(text, maximumBytes: ReceivedJWS.maximumRequestObjectBytes)
        else { throw .invalidObject("The request is not a signed JWT.") }
        let now = simulator.clock.now()
        try object.checkRequestObject(
            client: client, audiences: [site.issuer], responseType: "async_token", now: now)
        guard let redirectURI = object["redirect_uri"], client.allows(redirectURI)
        else { throw .invalidRequest("The redirect_uri is missing or not registered for this client.") }
        guard let token = object["client_notification_token"], token.utf8.count >= 22
        else { throw .invalidRequest("The client_notification_token is missing or too short.") }
        guard let url = object["client_notification_endpoint"].flatMap(NotificationSender.url)
        else { throw .invalidRequest("The client_notification_endpoint is missing or cannot be reached.") }
        let terms = GrantTerms(
            clientID: client.id, redirectURI: redirectURI, nonce: object["nonce"],
            scopes: try Scopes.parse(object["scope"] ?? "", ofOpenID: true),
            acr: try AuthorizationRequest.acr(object["acr_values"]),
            context: try AuthorizationRequest.context(object["context"]))
        // A phone number, or the user's subject at this client.
        guard let hint = object["login_hint"] else { throw OAuthError("invalid_login_hint", "There is no login_hint.") }
        guard
            let user = site.carrier.users.first(where: { $0.phoneNumber == hint })
                ?? site.user(ofSubject: hint, client: client)
        else { throw OAuthError("user_not_found", "The carrier has no such user.") }
        return BackchannelRequest(
            grant: Grant(mccmnc: site.mccmnc, terms: terms, user: user, approvedAt: now),
            notification: .init(url: url, token: token, state: object["state"]), startedAt: now,
            lifetime: Self.lifetime)
    }
}
