import HTTPTypes

extension HTTPField.Name {
    // Each text is a token, so the fallback is never used.
    static let apiKey = HTTPField.Name("X-API-KEY") ?? .from
    /// RFC 7239.
    static let forwarded = HTTPField.Name("Forwarded") ?? .from
    static let host = HTTPField.Name("Host") ?? .from
    static let rateLimit = HTTPField.Name("RateLimit") ?? .from
    static let rateLimitPolicy = HTTPField.Name("RateLimit-Policy") ?? .from
    static let secFetchSite = HTTPField.Name("Sec-Fetch-Site") ?? .from
    static let referrerPolicy = HTTPField.Name("Referrer-Policy") ?? .from
    /// W3C Trace Context section 3.2.
    static let traceparent = HTTPField.Name("traceparent") ?? .from
    /// W3C Trace Context section 3.3.
    static let tracestate = HTTPField.Name("tracestate") ?? .from
    static let xForwardedFor = HTTPField.Name("X-Forwarded-For") ?? .from
}
