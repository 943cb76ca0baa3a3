/// The response of a carrier's SDK after the user's approval, with the SDK's names.
///
/// The code, the code verifier and the nonce print as redacted.
public struct AuthorizedResponse: Sendable, Hashable {
    let code: Hidden
    let codeVerifier: Hidden?
    let nonce: Hidden?
    /// The network code of the user's carrier; empty for a provider that is not a carrier.
    public var mccmnc: String
    /// The redirect URI of the authorization request.
    public var redirectURI: String
    /// The `state` of the authorization request.
    public var state: String?
    /// The `acr_values` of the authorization request.
    public var acrValues: [String] = []
    /// The scopes of the authorization request.
    public var scopes: [String] = []
    /// The `context` of the authorization request.
    public var context: String?
    /// The `correlation_id` of the authorization request.
    public var correlationID: String?

    /// A response with the required values.
    public init(
        code: String, mccmnc: String = "", redirectURI: String, codeVerifier: String?, nonce: String? = nil
    ) {
        self.code = Hidden(code)
        self.mccmnc = mccmnc
        self.redirectURI = redirectURI
        self.codeVerifier = codeVerifier.map { Hidden($0) }
        self.nonce = nonce.map { Hidden($0) }
    }

    func fields(clientID: String) -> [String: String?] {
        var fields: [String: String] = [
            "client_id": clientID, "code": code.rawValue, "redirect_uri": redirectURI,
        ]
        fields["mccmnc"] = mccmnc.isEmpty ? nil : mccmnc
        fields["code_verifier"] = codeVerifier?.rawValue
        fields["nonce"] = nonce?.rawValue
        fields["state"] = state
        fields["acr_values"] = acrValues.words
        fields["scope"] = scopes.words
        fields["context"] = context
        fields["correlation_id"] = correlationID
        return fields
    }
}

extension [String] {
    /// The elements joined by spaces; nil if there are none.
    var words: String? { isEmpty ? nil : joined(separator: " ") }
}
