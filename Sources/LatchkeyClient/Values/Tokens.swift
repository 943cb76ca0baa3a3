public import Foundation

/// The two tokens of a session; what a ``TokenStore`` keeps. They do not show when printed.
public struct Tokens: Sendable, Hashable, Codable {
    private let hiddenToken: Hidden
    private let hiddenRefreshToken: Hidden
    /// When ``token`` ends, by the clock of this device.
    public let expiresAt: Date

    /// What goes with each request.
    public var token: String { hiddenToken.text }
    /// What is exchanged for new tokens, once.
    public var refreshToken: String { hiddenRefreshToken.text }

    public init(token: String, refreshToken: String, expiresAt: Date) {
        hiddenToken = Hidden(token)
        hiddenRefreshToken = Hidden(refreshToken)
        self.expiresAt = expiresAt
    }

    private enum CodingKeys: String, CodingKey {
        case hiddenToken = "token"
        case hiddenRefreshToken = "refresh_token"
        case expiresAt = "expires_at"
    }
}

/// A user has signed in on this device.
public struct Session: Sendable, Hashable {
    /// They are in the ``TokenStore`` already.
    public let tokens: Tokens
    /// Whether this very sign-in made the user.
    public let isNewUser: Bool
    /// What the server's log knows the sign-in by.
    public let correlationID: String
}
