public import Primitives

/// How the requests to a provider without ID tokens differ from RFC 6749, as it is configured.
public struct RequestVariations: Sendable, Hashable {
    /// The names and forms of the provider's own OAuth 2.0.
    public var dialect = OAuthDialect.standard
    /// What is between the scopes of an authorization request.
    public var scopeSeparator = ScopeSeparator.space
    /// The query parameter that has the access token in requests with one; nil for the `Authorization` field (RFC 6750
    /// section 2.1).
    public var accessTokenParameter: String?
    /// Where refresh tokens go; nil for the token endpoint.
    public var refreshEndpoint: EndpointURL?

    /// None.
    public init() {}

    /// The parameters of a request, as the provider names and writes them.
    func spelled(_ items: [(name: String, value: String)]) -> [(name: String, value: String)] {
        guard dialect != .standard || scopeSeparator != .space else { return items }
        let separator = scopeSeparator == .comma || dialect != .standard ? "," : " "
        let spelled = items.map { name, value in
            (
                name: dialect.names[name] ?? name,
                value: name == "scope" ? value.split(ascii: " ").joined(separator: separator) : value
            )
        }
        let order = dialect.firstParameters
        return order.compactMap { name in spelled.first { $0.name == name } }
            + spelled.filter { !order.contains($0.name) }
    }

    /// The URL of a request with an access token, and the field that has the token; nil if the URL has it.
    func place(
        _ accessToken: Secret, ofType type: String, in url: EndpointURL
    ) -> (url: EndpointURL, field: (name: String, value: String)?) {
        guard let name = accessTokenParameter ?? (dialect == .wechat ? "access_token" : nil) else {
            return (url, ("Authorization", type + " " + accessToken.exposed))
        }
        return (url.appending(query: [(name, accessToken.exposed)]), nil)
    }
}

/// What is between the scopes of an authorization request. The raw value is its name in the configuration.
public enum ScopeSeparator: String, Sendable, Hashable, CaseIterable {
    /// RFC 6749 section 3.3.
    case space
    case comma
}

/// A provider's own OAuth 2.0, which no single setting describes. The raw value is its name in the configuration.
public enum OAuthDialect: String, Sendable, Hashable, CaseIterable {
    /// RFC 6749.
    case standard
    /// The client id is `client_key`, and commas are between scopes.
    case tiktok
    /// The client is `appid` and `secret`, commas are between scopes, and token requests are GET with all parameters in
    /// the query. Requests with an access token have it in the query, that for the user with the `openid` of the token
    /// response. Errors have status 200 and an `errcode`.
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

    /// What follows the URL for browsers after a `#`.
    var fragment: String? { self == .wechat ? "wechat_redirect" : nil }

    /// The member of a token response that the request for the user repeats; nil for none.
    var userMember: String? { self == .wechat ? "openid" : nil }

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
