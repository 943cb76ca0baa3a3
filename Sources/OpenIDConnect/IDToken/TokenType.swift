package import Primitives

/// The kinds of JWT that are checked with a provider's keys. Each has its own rules, and none is accepted as another
/// (RFC 8725 section 3.11).
package enum TokenType: Sendable {
    /// `typ` is `JWT`, or absent.
    case idToken
    /// `typ` is `port_token+jwt`.
    case portToken
    /// `typ` is `logout+jwt`, with or without `application/` (RFC 7515 section 4.1.9). Older providers write `JWT` or
    /// none.
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

    /// Guesses the kind of a token: a logout token if its header says so or it has the event of one, else an ID token.
    package init(lookOf text: Secret, maximumBytes: Int) {
        let compact = CompactToken(text, maximumBytes: maximumBytes)
        let claims = compact?.payload.flatMap(IDTokenValidator.claims)
        let type = compact?.header?["typ"]?.string?.lowercased()
        let isLogout =
            type?.hasSuffix("logout+jwt") == true || claims?["events"]?.object?[LogoutValidationContext.event] != nil
        self = isLogout ? .logoutToken : .idToken
    }
}
