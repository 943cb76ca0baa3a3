import Primitives

/// A provider's own OAuth 2.0, which no single setting describes. The raw value is its name in the configuration.
public enum OAuthDialect: String, Sendable, Hashable, CaseIterable {
    /// RFC 6749.
    case standard
    /// The client id is `client_key`, and commas are between scopes.
    case tiktok
    /// The client is `appid` and `secret`, commas are between scopes, and token requests are GET with all parameters in
    /// the query. Requests with an access token have it in the query, that for the user with the `openid` of the token
    /// response. Refresh tokens have an endpoint of their own. Errors have status 200 and an `errcode`.
    case wechat

    /// Its names of parameters that RFC 6749 names otherwise.
    var names: [String: String] {
        switch self {
        case .standard: [:]
        case .tiktok: ["client_id": "client_key"]
        case .wechat: ["client_id": "appid", "client_secret": "secret"]
        }
    }

    /// The parameters that come first, in this order: WeChat compares the URL for browsers with a pattern.
    var firstParameters: [String] {
        self == .wechat ? ["appid", "redirect_uri", "response_type", "scope", "state"] : []
    }

    /// What is between the scopes of an authorization request. That of RFC 6749 section 3.3 is a space.
    var scopeSeparator: String { self == .standard ? " " : "," }

    var hasTokenRequestsInQuery: Bool { self == .wechat }

    /// The query parameter that has the access token in requests with one; nil for the `Authorization` field (RFC 6750
    /// section 2.1).
    var accessTokenParameter: String? { self == .wechat ? "access_token" : nil }

    /// What follows the URL for browsers after a `#`.
    var fragment: String? { self == .wechat ? "wechat_redirect" : nil }

    /// The member of a token response that the request for the user repeats; nil for none.
    var userMember: String? { self == .wechat ? "openid" : nil }

    /// Where refresh tokens go. WeChat has the endpoint `refresh_token` beside the endpoint `access_token` for codes.
    func refreshEndpoint(beside tokenEndpoint: EndpointURL) -> EndpointURL {
        let suffix = "/access_token"
        guard self == .wechat, tokenEndpoint.text.hasSuffix(suffix) else { return tokenEndpoint }
        return EndpointURL(tokenEndpoint.text.dropLast(suffix.count) + "/refresh_token", policy: .allowHTTP)
            ?? tokenEndpoint
    }

    /// The parameters of a request, as the provider names and writes them.
    func spelled(_ items: [(name: String, value: String)]) -> [(name: String, value: String)] {
        guard self != .standard else { return items }
        let spelled = items.map { name, value in
            (
                name: names[name] ?? name,
                value: name == "scope" ? value.split(ascii: " ").joined(separator: scopeSeparator) : value
            )
        }
        let order = firstParameters
        return order.compactMap { name in spelled.first { $0.name == name } }
            + spelled.filter { !order.contains($0.name) }
    }

    /// The URL of a request with an access token, and the field that has the token; nil if the URL has it.
    func place(
        _ accessToken: Secret, ofType type: String, in url: EndpointURL
    ) -> (url: EndpointURL, field: (name: String, value: String)?) {
        guard let name = accessTokenParameter else {
            return (url, ("Authorization", type + " " + accessToken.exposed))
        }
        return (url.appending(query: [(name, accessToken.exposed)]), nil)
    }

    /// The error of RFC 6749 section 5.2 that a token response of status 200 means in words of its own; nil if it has
    /// none of these.
    func error(in object: JSONObject) -> String? {
        guard self == .wechat else { return object["error"]?.string.flatMap { Self.githubErrors[$0] } }
        guard let code = object["errcode"]?.integer, code != 0 else { return nil }
        switch code {
        // A code or a refresh token that is unknown, spent or too old.
        case 40029, 40163, 41003, 42003, 40030, 42002: return "invalid_grant"
        // An appid or a secret that is missing or wrong.
        case 40013, 40125, 41002, 41004: return "invalid_client"
        default: return "errcode_\(code)"
        }
    }

    private static let githubErrors = [
        "bad_verification_code": "invalid_grant", "bad_refresh_token": "invalid_grant",
        "incorrect_client_credentials": "invalid_client",
    ]
}
