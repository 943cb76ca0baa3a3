import HTTPTypes

extension HTTPField.Name {
    // Each text is a token, so the fallback is never used.
    static let apiKey = HTTPField.Name("X-API-KEY") ?? .from
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .from
    static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .from
    static let requestID = HTTPField.Name("X-Request-Id") ?? .from
}
