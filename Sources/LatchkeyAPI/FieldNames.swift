import HTTPTypes

extension HTTPField.Name {
    // The fallback is never used: each text is a token.
    static let apiKey = HTTPField.Name("X-API-KEY") ?? .from
    static let requestID = HTTPField.Name("X-Request-Id") ?? .from
}
