import OpenIDConnect
import Primitives

/// A redirect sign-in under way: what was asked, and what must fit what comes back.
struct PendingRedirect: Sendable, Equatable {
    enum Leg: Sendable, Equatable {
        /// The user is asked for the carrier.
        case carrierChoice
        /// The carrier, or another provider, which no network leads to, asks the user.
        case authorization(network: MCCMNC?, nonce: Secret, codeVerifier: CodeVerifier)
    }

    var leg: Leg
    var provider: String
    var clientID: ClientID
    var clientType: ClientType
    var redirectURI: String
    var callbackURL: String
    var scopes: [String]
    var acrValues: [String]
    var context: String?
    var prompt: String?
    var loginHint: String?
    var codeChallenge: String?
    var trackingID: String?
    var correlationID: CorrelationID
    /// The SHA-256 of the value in the browser's cookie, in base64url; nil where any browser may come back.
    var browserHash: String?
    /// The id of the session whose user adds a way to sign in; nil for a sign-in.
    var linkingSession: String?

    init(
        _ start: RedirectStart, clientID: ClientID, scopes: [String], correlationID: CorrelationID, browserHash: String?
    ) {
        leg = .carrierChoice
        provider = start.provider
        self.clientID = clientID
        clientType = start.clientType
        redirectURI = start.redirectURI
        callbackURL = start.callbackURL
        self.scopes = scopes
        acrValues = start.acrValues
        context = start.context
        prompt = start.prompt
        loginHint = start.loginHint
        codeChallenge = start.codeChallenge
        trackingID = start.trackingID
        self.correlationID = correlationID
        self.browserHash = browserHash
        linkingSession = start.linkingSession
    }

    func end(_ result: RedirectEnd.Result) -> RedirectEnd {
        RedirectEnd(
            clientType: clientType, redirectURI: redirectURI, trackingID: trackingID, isLink: linkingSession != nil,
            result: result)
    }
}

/// As JSON, for a note to ourselves.
extension PendingRedirect {
    var bytes: [UInt8] {
        var json = JSONObjectWriter(capacity: 768)
        if case .authorization(let network, let nonce, let codeVerifier) = leg {
            json.add("mccmnc", ifPresent: network?.text)
            json.add("nonce", nonce.exposed)
            json.add("code_verifier", codeVerifier.secret.exposed)
        }
        json.add("provider", provider)
        json.add("client_id", clientID.text)
        json.add("client_type", clientType.rawValue)
        json.add("redirect_uri", redirectURI)
        json.add("callback_url", callbackURL)
        json.add("scopes", scopes)
        json.add("acr_values", acrValues)
        json.add("context", ifPresent: context)
        json.add("prompt", ifPresent: prompt)
        json.add("login_hint", ifPresent: loginHint)
        json.add("code_challenge", ifPresent: codeChallenge)
        json.add("tracking_id", ifPresent: trackingID)
        json.add("correlation_id", correlationID.text)
        json.add("browser", ifPresent: browserHash)
        json.add("linking_session", ifPresent: linkingSession)
        return json.finish()
    }

    init?(_ bytes: [UInt8]) {
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
        } else {
            leg = .carrierChoice
        }
        self.provider = provider
        self.clientID = clientID
        self.clientType = clientType
        self.redirectURI = redirectURI
        self.callbackURL = callbackURL
        scopes = json["scopes"]?.array?.compactMap(\.string) ?? []
        acrValues = json["acr_values"]?.array?.compactMap(\.string) ?? []
        context = json["context"]?.string
        prompt = json["prompt"]?.string
        loginHint = json["login_hint"]?.string
        codeChallenge = json["code_challenge"]?.string
        trackingID = json["tracking_id"]?.string
        self.correlationID = correlationID
        browserHash = json["browser"]?.string
        linkingSession = json["linking_session"]?.string
    }
}
