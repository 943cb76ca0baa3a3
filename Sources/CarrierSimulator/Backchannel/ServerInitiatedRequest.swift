import HTTPTypes
import Primitives

/// A valid backchannel authentication request (ZenKey's server-initiated sign-in): the user is asked on their phone.
struct ServerInitiatedRequest: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

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
    ) throws(Refusal) {
        guard let client = parameters["client_id"].flatMap({ clients[$0] }) else {
            throw Refusal("unauthorized_client", "The client_id is missing or unknown.", status: .unauthorized)
        }
        guard parameters["response_type"] == "async_token" else {
            throw Refusal("unsupported_response_type", "The response_type must be async_token.")
        }
        guard let text = parameters["request"] else { throw .invalidRequest("There is no request object.") }
        guard let object = ReceivedJWS(text, maximumBytes: ReceivedJWS.maximumRequestObjectBytes) else {
            throw .invalidObject("The request is not a signed JWT.")
        }
        try object.checkRequestObject(
            client: client, issuer: site.issuer, responseType: "async_token", now: now)
        guard let redirectURI = object["redirect_uri"], client.allows(redirectURI) else {
            throw .invalidRequest("The redirect_uri is missing or not registered for this client.")
        }
        guard let token = object["client_notification_token"], token.utf8.count >= 22 else {
            throw .invalidRequest("The client_notification_token is missing or too short.")
        }
        guard let url = object["client_notification_endpoint"].flatMap(NotificationURL.init) else {
            throw .invalidRequest("The client_notification_endpoint is missing or cannot be reached.")
        }
        self.id = id
        mccmnc = site.mccmnc
        terms = GrantTerms(
            clientID: client.id, redirectURI: redirectURI, codeChallenge: "", nonce: object["nonce"],
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
    ) throws(Refusal) -> String {
        guard let hint = object["login_hint"] else { throw Refusal("invalid_login_hint", "There is no login_hint.") }
        let user = site.carrier.users.first { user in
            user.phoneNumber == hint
                || Subject.identifier(mccmnc: site.mccmnc, clientID: client.id, userID: user.id) == hint
        }
        guard let user else { throw Refusal("user_not_found", "The carrier has no such user.") }
        return user.id
    }
}
