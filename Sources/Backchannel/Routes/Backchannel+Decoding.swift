import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn

extension BackchannelAuthenticationParameters {
    /// Reads a backchannel authentication from a body's fields (docs/approvals.md).
    /// - Throws: 400 that names every missing or malformed field.
    init(_ fields: BodyFields, at target: SignInTarget, random: RandomSource) throws(APIError) {
        if target.usesNetworkDiscovery {
            try self.init(ofCarrier: fields, target.reference.provider, random)
        } else {
            try self.init(ofProvider: fields, target.reference.provider, target.server, random)
        }
    }

    private init(ofCarrier fields: BodyFields, _ provider: String, _ random: RandomSource) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let clientID = reader.clientID(required: true)
        var demand = AuthenticationDemand()
        demand.scopes = reader.scopes()
        let network = reader.network()
        let loginHint = reader.loginHint(at: network)
        let redirectURI = reader.redirectURI()
        demand.acrValues = reader.words("acr_values", ["acrValues"], limit: 255)
        demand.context = reader.context()
        demand.prompt = reader.prompt([.noInteraction, .login, .consent])
        let options = reader.visibleText("options", limit: 255, allowingSpaces: true)
        guard reader.problems.isEmpty, let clientID, let loginHint, let network, let redirectURI else {
            throw reader.refusal(correlationID)
        }
        self.init(
            terms: .init(
                provider: provider, clientID: clientID, demand: demand,
                carrier: .init(loginHint: loginHint, network: network, redirectURI: redirectURI, options: options),
                correlationID: correlationID ?? .random(from: random)), sentNames: reader.sentNames)
    }

    /// For another provider (CIBA Core section 7.1).
    private init(
        ofProvider fields: BodyFields, _ provider: String, _ server: AuthorizationServer, _ random: RandomSource
    ) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let clientID = reader.clientID(at: server)
        var demand = AuthenticationDemand()
        demand.scopes = reader.scopes(usually: clientID.flatMap { server.clients[$0]?.scopes } ?? ["openid"])
        let user = reader.userHint()
        demand.acrValues = reader.words("acr_values", ["acrValues"], limit: 255)
        let bindingMessage = reader.value(
            "binding_message", ["bindingMessage"], limit: BindingMessage.maximumLength * 4,
            demand: "must be 1 to \(BindingMessage.maximumLength) letters, digits, signs and single spaces",
            BindingMessage.init)
        let requestedExpiry = reader.seconds(
            "requested_expiry", ["requestedExpiry"], upTo: BackchannelAuthenticationResponse.longestLifetime)
        if requestedExpiry == 0 { reader.refuse("requested_expiry", "must be at least 1") }
        let userCode = reader.visibleText("user_code", ["userCode"], limit: 128)
        guard reader.problems.isEmpty, let clientID, let user else { throw reader.refusal(correlationID) }
        var message = BackchannelAuthenticationRequest(scopes: demand.scopes, hint: user.hint)
        message.bindingMessage = bindingMessage
        message.acrValues = demand.acrValues
        message.requestedExpiry = requestedExpiry
        message.userCode = userCode.map { Secret($0) }
        self.init(
            terms: .init(
                provider: provider, clientID: clientID, demand: demand,
                correlationID: correlationID ?? .random(from: random)),
            ofProvider: (user, message), sentNames: reader.sentNames)
    }
}

extension FieldReader {
    /// In a form an unencoded `+`, with which phone numbers begin, is a space.
    /// - Parameter network: Nil if it was refused; the hint is not read then.
    fileprivate mutating func loginHint(at network: MCCMNC?) -> LoginHint? {
        let demand = LoginHint.demand + (isForm ? " (in a form, + is sent as %2B)" : "")
        guard let text = text("login_hint", ["loginHint"], limit: 255, required: true), let network else { return nil }
        return LoginHint(text, at: network) ?? refused(sentName("login_hint"), demand)
    }

    /// Exactly one of the three hints.
    fileprivate mutating func userHint() -> UserHint? {
        let before = problems.count
        let hints = [
            value(
                "login_hint", ["loginHint"], limit: 255,
                demand: "must be a text without control characters and without spaces around it"
                    + (isForm ? " (in a form, + is sent as %2B)" : ""), UserHint.init(loginHint:)),
            value(
                "login_hint_token", ["loginHintToken"], limit: 8192, demand: "must be visible ASCII characters",
                UserHint.init(loginHintToken:)),
            value(
                "id_token_hint", ["idTokenHint"], limit: 16_384, demand: "must be an ID token",
                UserHint.init(idTokenHint:)),
        ].compactMap(\.self)
        guard problems.count == before else { return nil }
        guard let hint = hints.first, hints.count == 1 else {
            let problem = hints.isEmpty ? "is missing, and so are" : "must not be sent beside"
            return refused("login_hint", "\(problem) login_hint_token and id_token_hint: send one of the three")
        }
        return hint
    }

    /// - Parameter usual: Without the field; nil if it is required.
    fileprivate mutating func scopes(usually usual: [String]? = nil) -> [String] {
        guard has("scope") else {
            if let usual { return usual.contains("openid") ? usual : ["openid"] + usual }
            refuse("scope", "is missing")
            return []
        }
        let before = problems.count
        let scopes = words("scope", limit: 1024)
        if problems.count == before, !scopes.contains("openid") { refuse("scope", "must have openid among its words") }
        return scopes
    }
}

extension BackchannelNotification {
    /// Reads the notification that a request's tokens are ready. Nothing but the id counts (CIBA Core section 10.2).
    /// - Throws: 400 without an id.
    init(ping fields: BodyFields) throws(APIError) {
        var reader = FieldReader(fields)
        let requestID = reader.visibleText("auth_req_id", limit: 512, required: true)
        guard reader.problems.isEmpty, let requestID else { throw reader.refusal() }
        self.init(requestID: Secret(requestID), state: nil, outcome: .ready)
    }

    /// Reads a provider's notification from a body's fields.
    /// - Throws: 400 that names every missing or malformed field.
    init(_ fields: BodyFields) throws(APIError) {
        var reader = FieldReader(fields)
        let requestID = reader.visibleText("auth_req_id", limit: 512, required: true)
        let state = reader.text("state", limit: 1024)
        let code = reader.text("error", limit: 255)
        let idToken = reader.visibleText("id_token", limit: 32_768)
        let accessToken = reader.visibleText("access_token", limit: 8192)
        if code == nil, idToken == nil { reader.refuse("id_token", "is missing, and so is error") }
        guard reader.problems.isEmpty, let requestID else { throw reader.refusal() }
        let outcome: Outcome
        if let code {
            outcome = .refused(code)
        } else if let idToken {
            outcome = .approved(idToken: Secret(idToken), accessToken: accessToken.map(Secret.init))
        } else {
            throw .malformed("id_token is missing.")
        }
        self.init(requestID: Secret(requestID), state: state.map(Secret.init), outcome: outcome)
    }
}
