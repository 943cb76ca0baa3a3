/// What a carrier's SDK hands the app once the user has approved, under the SDK's own names.
///
/// The code and what belongs to it do not show when printed.
public struct AuthorizedResponse: Sendable, Hashable {
    let code: Hidden
    let codeVerifier: Hidden?
    let nonce: Hidden?
    public var mccmnc: String
    public var redirectURI: String
    public var state: String?
    public var acrValues: [String] = []
    public var scopes: [String] = []
    public var context: String?
    public var correlationID: String?

    public init(
        code: String, mccmnc: String, redirectURI: String, codeVerifier: String?, nonce: String? = nil
    ) {
        self.code = Hidden(code)
        self.mccmnc = mccmnc
        self.redirectURI = redirectURI
        self.codeVerifier = codeVerifier.map(Hidden.init)
        self.nonce = nonce.map(Hidden.init)
    }

    func fields(clientID: String) -> [String: String?] {
        var fields: [String: String] = [
            "client_id": clientID, "code": code.text, "mccmnc": mccmnc, "redirect_uri": redirectURI,
        ]
        fields["code_verifier"] = codeVerifier?.text
        fields["nonce"] = nonce?.text
        fields["state"] = state
        fields["acr_values"] = acrValues.words
        fields["scope"] = scopes.words
        fields["context"] = context
        fields["correlation_id"] = correlationID
        return fields
    }
}

extension [String] {
    /// In one text; nil if there are none.
    var words: String? { isEmpty ? nil : joined(separator: " ") }
}
