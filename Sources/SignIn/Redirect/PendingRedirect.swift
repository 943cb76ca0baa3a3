import OpenIDConnect
import Primitives

/// A redirect sign-in under way: what was asked, and what the response must match.
struct PendingRedirect: Sendable {
    enum Leg: Sendable, Equatable {
        /// The user chooses a carrier.
        case carrierChoice
        /// The user is at the carrier, or at a provider that is no carrier and has no network.
        case authorization(network: MCCMNC?, nonce: Secret, codeVerifier: CodeVerifier)
    }

    var leg = Leg.carrierChoice
    var start: RedirectStart
    let clientID: ClientID
    let correlationID: CorrelationID
    /// The SHA-256 of the value in the browser's cookie, in base64url; nil where any browser may come back.
    let browserHash: String?
    /// The key that the provider binds the code to; nil where none is used.
    var dpopKey: DPoPKey?
    /// The network of the browser's address, for the limit of pending starts; not stored.
    var subnet: IPAddress?

    private var purpose: RedirectEnd.Purpose {
        if let verification = start.verification { return .verification(id: verification) }
        return start.linkingSession == nil ? .signIn : .link
    }

    func end(_ result: RedirectEnd.Result) -> RedirectEnd {
        RedirectEnd(
            clientType: start.clientType, redirectURI: start.redirectURI,
            trackingID: start.trackingID ?? correlationID.text, correlationID: correlationID,
            purpose: purpose, result: result)
    }
}

/// As versions before the compact form wrote it.
extension PendingRedirect {
    init?(json bytes: [UInt8]) {
        guard let json = (try? JSONValue(parsing: bytes))?.object,
            let provider = json["provider"]?.string, let clientID = json["client_id"]?.string.flatMap(ClientID.init),
            let clientType = json["client_type"]?.string.flatMap(ClientType.init(rawValue:)),
            let redirectURI = json["redirect_uri"]?.string, let callbackURL = json["callback_url"]?.string,
            let correlationID = json["correlation_id"]?.string.flatMap(CorrelationID.init)
        else { return nil }
        if let nonce = json["nonce"]?.string,
            let codeVerifier = json["code_verifier"]?.string.flatMap(CodeVerifier.init)
        {
            leg = .authorization(
                network: json["mccmnc"]?.string.flatMap(MCCMNC.init), nonce: Secret(nonce), codeVerifier: codeVerifier)
        }
        start = RedirectStart(
            provider: ProviderReference(text: provider), clientType: clientType, redirectURI: redirectURI,
            callbackURL: callbackURL)
        start.demand.scopes = json["scopes"]?.array?.compactMap(\.string) ?? []
        start.demand.acrValues = json["acr_values"]?.array?.compactMap(\.string) ?? []
        start.demand.context = json["context"]?.string
        start.demand.prompt = json["prompt"]?.string.map(Prompt.stored) ?? []
        start.demand.loginHint = json["login_hint"]?.string
        start.codeChallenge = json["code_challenge"]?.string
        start.trackingID = json["tracking_id"]?.string
        start.sessionIDIsSession = json["session_id_is_session"]?.bool ?? false
        start.linkingSession = json["linking_session"]?.string
        self.clientID = clientID
        self.correlationID = correlationID
        browserHash = json["browser"]?.string
    }
}
