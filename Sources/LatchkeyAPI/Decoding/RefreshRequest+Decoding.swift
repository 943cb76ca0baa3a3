import Primitives
import SignIn

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
