import HTTPServer
import HTTPTypes
import Primitives

/// A carrier's backchannel authentication endpoint (ZenKey's server-initiated sign-in).
struct ServerInitiatedEndpoint: Sendable {
    let simulator: CarrierSimulator

    /// `POST {issuer}/server-initiated`: a request object in JSON or a form. The response has `auth_req_id`.
    func start(_ request: Request) async throws -> Response {
        let parameters = Result { () throws(OAuthError) in try Parameters(contentOf: request) }
        return try await simulator.serve(
            .backchannelAuthentication, request, faults: "server-initiated-", content: try? parameters.get()
        ) { site in
            let started = try ServerInitiatedRequest(
                try parameters.get(), id: simulator.random.token(bytes: 24), site: site, clients: simulator.clients,
                now: simulator.clock.now())
            if site.has(.backchannelUserUnsupported) {
                throw OAuthError("user_unsupported", "The user cannot be asked.")
            }
            simulator.withState { $0.serverInitiatedRequests.put(started, for: started.id) }
            if site.has(.notificationBeforeResponse) { _ = try await simulator.complete(started.id, .approved) }
            let lifetime = ServerInitiatedRequest.lifetime
            var members = JSONMembers()
            if !site.has(.backchannelMissingID) { members["auth_req_id"] = .string(started.id) }
            members["expires_in"] = site.carrier.writesExpiresInAsText ? .string("\(lifetime)") : .integer(lifetime)
            members["correlation_id"] = .string(try parameters.get()["correlation_id"])
            return .json(members)
        }
    }
}

/// A valid backchannel authentication request (ZenKey's server-initiated sign-in): the user is asked on their phone.
struct ServerInitiatedRequest: Sendable {
    /// How long the user may take to respond, in seconds.
    static let lifetime: Int64 = 300

    /// The `auth_req_id`.
    let id: String
    let mccmnc: String
    let terms: GrantTerms
    let userID: String
    let state: String?
    let notificationURL: NotificationURL
    let notificationToken: String

    /// Reads a request. Everything that matters is in the signed request object.
    init(
        _ parameters: Parameters, id: String, site: CarrierSite, clients: [String: CarrierSimulator.Client],
        now: Timestamp
    ) throws(OAuthError) {
        guard let client = parameters["client_id"].flatMap({ clients[$0] })
        else { throw OAuthError("unauthorized_client", "The client_id is missing or unknown.", status: .unauthorized) }
        guard parameters["response_type"] == "async_token"
        else { throw OAuthError("unsupported_response_type", "The response_type must be async_token.") }
        guard let text = parameters["request"] else { throw .invalidRequest("There is no request object.") }
        guard let object = ReceivedJWS(text, maximumBytes: ReceivedJWS.maximumRequestObjectBytes)
        else { throw .invalidObject("The request is not a signed JWT.") }
        try object.checkRequestObject(client: client, issuer: site.issuer, responseType: "async_token", now: now)
        guard let redirectURI = object["redirect_uri"], client.allows(redirectURI)
        else { throw .invalidRequest("The redirect_uri is missing or not registered for this client.") }
        guard let token = object["client_notification_token"], token.utf8.count >= 22
        else { throw .invalidRequest("The client_notification_token is missing or too short.") }
        guard let url = object["client_notification_endpoint"].flatMap(NotificationURL.init)
        else { throw .invalidRequest("The client_notification_endpoint is missing or cannot be reached.") }
        self.id = id
        mccmnc = site.mccmnc
        terms = GrantTerms(
            clientID: client.id, redirectURI: redirectURI, nonce: object["nonce"],
            scopes: try Scopes.parse(object["scope"] ?? "", ofOpenID: true),
            acr: try AuthorizationRequest.acr(object["acr_values"]),
            context: try AuthorizationRequest.context(object["context"]))
        userID = try Self.user(object, client: client, site: site)
        state = object["state"]
        notificationURL = url
        notificationToken = token
    }

    /// The user of a `login_hint`: a phone number, or the user's subject at this client.
    private static func user(
        _ object: ReceivedJWS, client: CarrierSimulator.Client, site: CarrierSite
    ) throws(OAuthError) -> String {
        guard let hint = object["login_hint"] else { throw OAuthError("invalid_login_hint", "There is no login_hint.") }
        let user = site.carrier.users.first { user in
            user.phoneNumber == hint
                || Subject.identifier(mccmnc: site.mccmnc, clientID: client.id, userID: user.id) == hint
        }
        guard let user else { throw OAuthError("user_not_found", "The carrier has no such user.") }
        return user.id
    }
}
