import Primitives
package import SignIn

extension SignInRequest {
    /// Reads a sign-in from a body's fields, or with `isTransaction` the approval of a transaction, which requires
    /// `context` and `acr_values` (docs/approvals.md).
    /// - Parameters:
    ///   - target: Gives the client and the redirect URI that the body leaves out, if there is only one. `mccmnc` is
    ///     read for carriers only.
    ///   - caller: Who sent it, if that is not said by a session.
    ///   - device: A name for the user's device, of a session that starts.
    /// - Throws: 400 that names every missing or malformed field.
    package convenience init(
        _ fields: BodyFields, at target: SignInTarget, isTransaction: Bool = false, caller: Caller? = nil,
        device: String? = nil
    ) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let clientID = reader.clientID(at: target.server)
        let code = reader.visibleText("code", limit: 4096, required: true, allowingSpaces: true)
        let network = target.usesNetworkDiscovery ? reader.network() : nil
        let redirectURI = reader.redirectURI(of: clientID, at: target.server)
        let codeVerifier = reader.codeVerifier()
        let nonce = reader.text("nonce", limit: 512)
        var demand = AuthenticationDemand()
        demand.acrValues = reader.words("acr_values", ["acrValues"], limit: 255, required: isTransaction)
        demand.context = reader.context(required: isTransaction)
        let state = reader.text("state", limit: 1024)
        demand.scopes = reader.words("scope", limit: 1024)
        guard reader.problems.isEmpty, let clientID, let code, let redirectURI else {
            throw reader.refusal(correlationID)
        }
        self.init(
            provider: target.reference, clientID: clientID, code: Secret(code), network: network,
            redirectURI: redirectURI, codeVerifier: codeVerifier, nonce: nonce.map(Secret.init), demand: demand,
            state: state, correlationID: correlationID, sentNames: reader.sentNames, caller: caller, device: device)
    }
}

extension RefreshRequest {
    /// Reads a refresh from a body's fields (RFC 6749 section 6, docs/sessions.md).
    /// - Parameter cookie: The refresh token of a page, in place of the field.
    /// - Throws: 400 that names every missing or malformed field; 400 for another grant type.
    init(_ fields: BodyFields, caller: Caller, cookie: Secret? = nil) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let grantType = reader.text("grant_type", ["grantType"], limit: 128, required: true)
        if let grantType, grantType != "refresh_token" { throw .unsupportedGrantType(correlationID) }
        let refreshToken =
            cookie
            ?? reader.visibleText("refresh_token", ["refreshToken"], limit: 512, required: true).map { Secret($0) }
        self.init(refreshToken: refreshToken ?? Secret(""), caller: caller)
        clientID = reader.visibleText("client_id", ["clientId"], limit: 255)
        self.correlationID = correlationID
        try reader.check(correlationID)
    }
}
