import Primitives

/// How a provider marks its ID tokens in the header parameter `typ` (RFC 7515 section 4.1.9). The raw values are the
/// words of the setting `id_token_types`. Letters of `typ` are compared without regard to case.
public enum IDTokenType: String, Sendable, Hashable, CaseIterable {
    /// `JWT`.
    case jwt = "JWT"
    /// There is no `typ`.
    case absent
    /// `at+jwt`, which is the type of access tokens (RFC 9068 section 2.1) and which ZenKey's guides show in ID tokens
    /// (iOS guide section 9.2). A token of this type must have the claims of an ID token
    /// (``IDTokenCheck/idTokenClaims``).
    case accessToken = "at+jwt"

    /// The types that are accepted of a provider by default.
    public static let standard: [IDTokenType] = [.jwt, .absent]
    /// The types that are accepted of ZenKey's carriers by default.
    public static let zenKeyCarriers: [IDTokenType] = [.jwt, .absent, .accessToken]

    /// The type that a header has; nil for any other type.
    /// - Parameter type: The value of `typ`; nil if there is none.
    init?(_ type: JSONValue?) {
        guard let type else {
            self = .absent
            return
        }
        switch type.string?.lowercased() {
        case "jwt": self = .jwt
        case "at+jwt": self = .accessToken
        default: return nil
        }
    }
}
