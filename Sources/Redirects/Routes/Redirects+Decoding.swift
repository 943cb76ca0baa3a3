import HTTPServer
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn

extension RedirectStart {
    /// Reads a start (docs/web-frontends.md).
    /// - Parameters:
    ///   - callback: The path that the provider sends the browser back to; by default the provider's callback.
    ///   - fallback: The redirect URI if the request has none. Without it, `redirect_uri` is required.
    /// - Throws: 400 that names every missing or malformed field.
    init(
        _ reader: FieldReader, provider: String, publicURL: String, callback: ((ClientType) -> String)? = nil,
        fallback: ((ClientID?, ClientType) -> String?)? = nil
    ) throws(APIError) {
        var reader = reader
        let correlationID = reader.correlationID()
        let clientType = reader.value(
            "client_type", ["clientType"], limit: 16, required: true, demand: "must be web, spa, ios, android or popup",
            ClientType.init(rawValue:))
        let named = reader.redirectURI(required: fallback == nil)
        let clientID = reader.clientID()
        let network = reader.network(required: false)
        let operatorName = reader.operatorName()
        let phoneNumber = reader.phoneNumber()
        let usual = clientType.flatMap { fallback?(clientID, $0) }
        if named == nil, usual == nil, fallback != nil { reader.refuse("redirect_uri", "is missing") }
        let redirectURI = named ?? usual ?? ""
        let kind = clientType ?? .web
        self.init(
            provider: ProviderReference(provider: provider), clientType: kind,
            // A path is one of this server's own pages.
            redirectURI: redirectURI.hasPrefix("/") ? publicURL + redirectURI : redirectURI,
            callbackURL: publicURL + (callback?(kind) ?? "/auth/\(provider)/callback"))
        self.clientID = clientID
        self.network = network
        self.operatorName = operatorName
        self.phoneNumber = phoneNumber
        demand.scopes = reader.words("scope", limit: 1024)
        demand.acrValues = reader.words("acr_values", ["acrValues"], limit: 255)
        demand.context = reader.context()
        demand.prompt = reader.prompt(Prompt.allCases)
        demand.maximumAge = reader.seconds("max_age", ["maxAge"], upTo: AuthenticationDemand.longestMaximumAge)
        demand.loginHint = reader.text("login_hint", limit: 255)
        codeChallenge = reader.codeChallenge()
        trackingID = reader.visibleText("tracking_id", limit: 128)
        self.correlationID = correlationID
        sentNames = reader.sentNames
        try reader.check(correlationID)
    }
}

extension AuthorizationResponse {
    /// The parameters that a provider may send.
    static let names = plainNames + [signedName]
    private static let plainNames = ["state", "code", "error", "iss", "mccmnc", "login_hint_token"]
    /// The parameter that has all others, as a signed JWT.
    private static let signedName = "response"
    /// The parameter that a form has which this server's page has sent again.
    static let sentAgain = "sent_again"

    /// Reads the authorization response in a browser's query or form.
    /// - Throws: 400 that names every malformed parameter, or the JWT if there are other parameters of a response
    ///   beside it.
    init(_ query: Query, provider: String) throws(APIError) {
        var reader = FieldReader(query)
        self.init(provider: provider)
        if reader.has(Self.signedName) {
            if Self.plainNames.contains(where: { reader.has($0) }) {
                reader.refuse(Self.signedName, "is beside other parameters of an authorization response")
            }
            signed = reader.visibleText(Self.signedName, limit: 16 * 1024, required: true).map { Secret($0) }
        } else {
            state = reader.visibleText("state", limit: 256).map { Secret($0) }
            code = reader.visibleText("code", limit: 4096, allowingSpaces: true).map { Secret($0) }
            network = reader.has("mccmnc") ? reader.network() : nil
            loginHintToken = reader.visibleText("login_hint_token", limit: 4096)
            error = reader.text("error", limit: 256)
            issuer = reader.text("iss", limit: 2048)
        }
        try reader.check()
    }
}

extension FieldReader {
    /// An S256 code challenge (RFC 7636 section 4.2); `plain` is not supported.
    fileprivate mutating func codeChallenge() -> String? {
        let method = text("code_challenge_method", limit: 16)
        let challenge = value(
            "code_challenge", limit: 43, demand: "must be the SHA-256 of a code verifier in base64url"
        ) { Base64URL.decode($0)?.count == 32 ? $0 : nil }
        if challenge != nil, method != "S256" { refuse("code_challenge_method", "must be S256") }
        return challenge
    }
}
