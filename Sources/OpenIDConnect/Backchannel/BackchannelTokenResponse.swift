/// The token endpoint's response to a poll (CIBA Core section 11).
public enum BackchannelTokenResponse: Sendable, Hashable {
    /// The user approved.
    case tokens(TokenResponse)
    /// The user has not decided yet (`authorization_pending`).
    case pending
    /// As ``pending``; and from now on the interval is at least ``slowDownSeconds`` longer (`slow_down`).
    case slowDown

    /// By how many seconds a ``slowDown`` lengthens the interval.
    public static let slowDownSeconds: Int64 = 5

    /// Whether an error of a poll means that the user has not decided; nil for every other error.
    init?(_ error: OIDCError) {
        guard error.code == .carrierRefused else { return nil }
        switch error.carrierError {
        case "authorization_pending": self = .pending
        case "slow_down": self = .slowDown
        default: return nil
        }
    }
}
