package import Primitives

/// The kinds of JWT that are checked with a provider's keys. Each has rules of its own, and none passes for another
/// (RFC 8725 section 3.11).
package enum TokenType: Sendable {
    /// `typ` is `JWT`, or absent.
    case idToken
    /// `typ` is `port_token+jwt`.
    case portToken
    /// `typ` is `logout+jwt`, also with the `application/` that may be left out (RFC 7515 section 4.1.9), `JWT`, or absent:
    /// older providers name no type of its own.
    case logoutToken

    /// Whether a header's `typ` says that a token is of this kind.
    func isNamed(by type: JSONValue?) -> Bool {
        switch self {
        case .idToken: type == nil || type?.string?.lowercased() == "jwt"
        case .logoutToken:
            type == nil || ["jwt", "logout+jwt", "application/logout+jwt"].contains(type?.string?.lowercased())
        case .portToken: type?.string?.lowercased() == "port_token+jwt"
        }
    }

    /// What a token looks like that nobody has said the kind of: a logout token if it says so in its header or has the event of
    /// one, and else an ID token.
    package init(lookOf text: Secret, maximumBytes: Int) {
        let compact = CompactToken(text, maximumBytes: maximumBytes)
        let claims = compact?.payload.flatMap(IDTokenValidator.claims)
        let type = compact?.header?["typ"]?.string?.lowercased()
        let isLogout =
            type?.hasSuffix("logout+jwt") == true || claims?["events"]?.object?[LogoutValidationContext.event] != nil
        self = isLogout ? .logoutToken : .idToken
    }
}
