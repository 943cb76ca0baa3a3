import HTTPTypes

extension HTTPField.Name {
    // The fallback is never used: each text is a token.
    static let apiKey = HTTPField.Name("X-API-KEY") ?? .from
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .from
    static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .from
    static let requestID = HTTPField.Name("X-Request-Id") ?? .from
}
