import Primitives
import SignIn

extension RefreshRequest {
    /// Reads a refresh from a body's fields (RFC 6749 section 6, docs/sessions.md).
    /// - Parameter cookie: The refresh token of a page, whose requests do not have one themselves.
    /// - Throws: 400 that names everything that is missing or malformed; 400 for another grant type.
    init(_ fields: BodyFields, caller: Caller, cookie: Secret? = nil) throws(APIError) {
        var reader = FieldReader(fields)
        let correlationID = reader.correlationID()
        let grantType = reader.text("grant_type", ["grantType"], limit: 128, required: true)
        if let grantType, grantType != "refresh_token" { throw .unsupportedGrantType(correlationID) }
        let refreshToken =
            cookie?.exposed
            ?? reader.visibleText("refresh_token", ["refreshToken"], limit: 512, required: true)
        let clientID = reader.visibleText("client_id", ["clientId"], limit: 255)
        guard reader.problems.isEmpty, let refreshToken else {
            throw reader.refusal(correlationID)
        }
        self.init(refreshToken: Secret(refreshToken), caller: caller)
        self.clientID = clientID
        self.correlationID = correlationID
    }
}
