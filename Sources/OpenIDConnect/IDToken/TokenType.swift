import Primitives

/// The kinds of JWT that are checked with a provider's keys. Each has its own rules, and none is accepted as another
/// (RFC 8725 section 3.11).
package enum TokenType: Sendable {
    /// `typ` is one of these.
    case idToken([IDTokenType])
    /// `typ` is this, in lower case, or also absent.
    case named(String, orAbsent: Bool)
    /// `typ` is `logout+jwt`, with or without `application/` (RFC 7515 section 4.1.9). Older providers write `JWT` or
    /// none.
    case logoutToken
    /// `typ` is absent or `JWT`.
    case userInfo
    /// `typ` is absent or `JWT`: JARM names none.
    case authorizationResponse

    /// Whether a header's `typ` says that a token is of this kind.
    func isNamed(by type: JSONValue?) -> Bool {
        switch self {
        case .idToken(let types): IDTokenType(type).map(types.contains) ?? false
        case .logoutToken:
            type == nil || ["jwt", "logout+jwt", "application/logout+jwt"].contains(type?.string?.lowercased())
        case .userInfo, .authorizationResponse: [.jwt, .absent].contains(IDTokenType(type))
        case .named(let name, let mayBeAbsent):
            type == nil ? mayBeAbsent : type?.string?.lowercased() == name
        }
    }

    /// The types that are accepted, for an explanation.
    var accepted: String {
        switch self {
        case .idToken(let types): types.map(\.rawValue).joined(separator: ", ")
        case .logoutToken: "logout+jwt, JWT, absent"
        case .userInfo, .authorizationResponse: "JWT, absent"
        case .named(let name, let mayBeAbsent): mayBeAbsent ? "\(name), absent" : name
        }
    }
}
