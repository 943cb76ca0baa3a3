import OpenIDConnect
import Primitives
import SignIn

extension SignInRequest {
    /// Reads a sign-in from a body's fields, or with `isTransaction` the approval of a transaction, which requires
    /// `context` and `acr_values` (docs/transactions.md).
    /// - Parameter kind: The kind of provider; `mccmnc` is read for carriers only.
    /// - Throws: 400 that names every missing or malformed field.
    init(
        _ fields: BodyFields, provider: String, kind: SignInConfiguration.Provider.Kind, isTransaction: Bool = false
    ) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let clientID = reader.clientID(required: true)
        let code = reader.visibleText("code", limit: 4096, required: true, allowingSpaces: true)
        let network = kind == .zenkey ? reader.network() : nil
        let redirectURI = reader.redirectURI()
        let codeVerifier = reader.codeVerifier()
        let nonce = reader.text("nonce", limit: 512)
        let acrValues = reader.words("acr_values", ["acrValues"], limit: 255, required: isTransaction)
        let context = reader.context(required: isTransaction)
        let state = reader.text("state", limit: 1024)
        let scopes = reader.words("scope", limit: 1024)
        guard reader.problems.isEmpty, let clientID, let code, let redirectURI else {
            throw reader.refusal(correlationID)
        }
        self.init(
            provider: provider, clientID: clientID, code: Secret(code), network: network, redirectURI: redirectURI)
        self.codeVerifier = codeVerifier
        self.nonce = nonce.map(Secret.init)
        self.acrValues = acrValues
        self.context = context
        self.state = state
        self.scopes = scopes
        self.correlationID = correlationID
    }
}
