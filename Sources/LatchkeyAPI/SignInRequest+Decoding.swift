import OpenIDConnect
import Primitives
import SignIn

extension SignInRequest {
    /// Reads a sign-in from a body's fields, or with `isTransaction` the approval of a transaction,
    /// which must name what was approved and how (docs/transactions.md).
    /// - Parameter kind: The provider's; carriers are found by `mccmnc`, and for others it is not read.
    /// - Throws: 400 that names everything that is missing or malformed.
    init(
        _ fields: BodyFields, provider: String, kind: SignInConfiguration.Provider.Kind, isTransaction: Bool = false
    ) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let clientID = reader.value(
            "client_id", ["clientId"], limit: 255, required: true, demand: "must be ASCII characters", ClientID.init)
        let code = reader.visibleText("code", limit: 4096, required: true, allowingSpaces: true)
        let network = kind == .zenkey ? reader.network() : nil
        let redirectURI = reader.visibleText(
            "redirect_uri", ["redirectURI", "redirectUri"], limit: 2048, required: true)
        let codeVerifier = reader.value(
            "code_verifier", ["codeVerifier"], limit: 128,
            demand: "must be 43 to 128 letters, digits and signs of - . _ ~", CodeVerifier.init)
        let nonce = reader.text("nonce", limit: 512)
        let acrValues = reader.words("acr_values", ["acrValues"], limit: 255, required: isTransaction)
        let context = reader.context(required: isTransaction)
        let state = reader.text("state", limit: 1024)
        let scopes = reader.words("scope", limit: 1024)
        guard reader.problems.isEmpty, let clientID, let code, let redirectURI else {
            throw .malformed(reader.problems.joined(separator: "; ") + ".", correlationID)
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

extension FieldReader {
    mutating func correlationID() -> CorrelationID? {
        value(
            "correlation_id", ["correlationId"], limit: 128,
            demand: "must be visible ASCII characters without quotation marks and backslashes", CorrelationID.init)
    }

    /// The network: from `mccmnc`, or from `mcc` and `mnc`.
    mutating func network() -> MCCMNC? {
        let before = problems.count
        let whole = digits("mccmnc", 5...6)
        let country = digits("mcc", 3...3)
        let network = digits("mnc", 2...3)
        guard problems.count == before else { return nil }
        switch (whole, country, network) {
        case (let whole?, nil, nil): return MCCMNC(whole)
        case (let whole?, let country?, let network?) where whole == country + network: return MCCMNC(whole)
        case (nil, let country?, let network?): return MCCMNC(country + network)
        case (nil, nil, nil): refuse("mccmnc", "is missing")
        case (nil, nil, _): refuse("mcc", "is missing")
        case (nil, _, nil): refuse("mnc", "is missing")
        default: refuse("mccmnc", "is not mcc and mnc: send the one or the other")
        }
        return nil
    }

    /// At most 280 characters, of up to four bytes each.
    mutating func context(required: Bool = false) -> String? {
        guard let text = text("context", limit: 280 * 4, required: required) else { return nil }
        guard text.unicodeScalars.count <= 280 else {
            refuse("context", "is longer than 280 characters")
            return nil
        }
        return text
    }
}
