import OpenIDConnect
import Primitives
import SignIn

extension BackchannelAuthenticationParameters {
    /// Reads a backchannel authentication from a body's fields (docs/backchannel-authentication.md).
    /// - Throws: 400 that names every missing or malformed field.
    init(_ fields: BodyFields, provider: String) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let clientID = reader.clientID(required: true)
        let scopes = reader.scopes()
        let network = reader.network()
        let loginHint = reader.loginHint(at: network)
        let redirectURI = reader.redirectURI()
        let acrValues = reader.words("acr_values", ["acrValues"], limit: 255)
        let context = reader.context()
        let prompt = reader.prompt([.noInteraction, .login, .consent])
        let options = reader.visibleText("options", limit: 255, allowingSpaces: true)
        guard reader.problems.isEmpty, let clientID, let loginHint, let network, let redirectURI else {
            throw reader.refusal(correlationID)
        }
        self.init(
            provider: provider, clientID: clientID, loginHint: loginHint, scopes: scopes, network: network,
            redirectURI: redirectURI)
        self.acrValues = acrValues
        self.context = context
        self.prompt = prompt
        self.options = options
        self.correlationID = correlationID
    }
}

extension FieldReader {
    /// In a form an unencoded `+`, with which phone numbers begin, is a space.
    /// - Parameter network: Nil if it was refused; the hint is not read then.
    fileprivate mutating func loginHint(at network: MCCMNC?) -> LoginHint? {
        let demand = LoginHint.demand + (isForm ? " (in a form, + is sent as %2B)" : "")
        guard let text = text("login_hint", ["loginHint"], limit: 255, required: true), let network else { return nil }
        return LoginHint(text, at: network) ?? refused(sentName("login_hint", ["loginHint"]), demand)
    }

    fileprivate mutating func scopes() -> [String] {
        guard has("scope") else {
            refuse("scope", "is missing")
            return []
        }
        let before = problems.count
        let scopes = words("scope", limit: 1024)
        if problems.count == before, !scopes.contains("openid") { refuse("scope", "must have openid among its words") }
        return scopes
    }
}
