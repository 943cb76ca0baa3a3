import HTTPTypes
import Primitives

/// A sign-in that a relying party started, and the user has been asked about on their phone.
struct BackchannelAuthenticationRequest: Sendable {
    typealias Refusal = CarrierSimulator.Refusal

    /// Seconds within which the user may answer.
    static let lifetime: Int64 = 300

    /// What the carrier calls it.
    let id: String
    let mccmnc: String
    let terms: GrantTerms
    let userID: String
    let state: String?
    let notificationURL: NotificationURL
    let notificationToken: String
    let startedAt: Timestamp

    var expiresAt: Timestamp { startedAt.advanced(bySeconds: Self.lifetime) }

    /// Reads what a relying party wants: a request object of the client, and in it all that matters.
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
        let object = try ReceivedRequestObject(text)
        try object.check(client: client, issuer: site.issuer, now: now)
        guard object["response_type"] == "async_token" else {
            throw .invalidObject("The request's response_type must be async_token.")
        }
        guard let redirectURI = object["redirect_uri"], client.allows(redirectURI) else {
            throw .invalidRequest("The redirect_uri is missing or not registered for this client.")
        }
        guard let token = object["client_notification_token"], token.utf8.count >= 22 else {
            throw .invalidRequest("The client_notification_token is missing or can be guessed.")
        }
        guard let url = object["client_notification_endpoint"].flatMap(NotificationURL.init) else {
            throw .invalidRequest("The client_notification_endpoint is missing or cannot be reached.")
        }
        self.id = id
        mccmnc = site.mccmnc
        terms = try Self.terms(object, clientID: client.id, redirectURI: redirectURI)
        userID = try Self.user(object, client: client, site: site)
        state = object["state"]
        notificationURL = url
        notificationToken = token
        startedAt = now
    }

    private static func terms(
        _ object: ReceivedRequestObject, clientID: String, redirectURI: String
    ) throws(Refusal) -> GrantTerms {
        let acr = object["acr_values"]?.split(separator: " ").map(String.init) ?? ["a3"]
        guard let level = acr.first(where: ProviderMetadata.acrValues.contains) else {
            throw .invalidRequest("None of the acr_values is supported.")
        }
        guard object["context"].map({ $0.count <= AuthorizationRequest.maximumContextCharacters }) ?? true else {
            throw .invalidRequest("The context has more than 280 characters.")
        }
        return GrantTerms(
            clientID: clientID, redirectURI: redirectURI, codeChallenge: "", nonce: object["nonce"],
            scopes: try Scopes.parse(object["scope"] ?? "", ofOpenID: true), acr: level, context: object["context"])
    }

    /// The subscriber of a phone number, or of a subject that the client knows.
    private static func user(
        _ object: ReceivedRequestObject, client: CarrierSimulator.Client, site: CarrierSite
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
