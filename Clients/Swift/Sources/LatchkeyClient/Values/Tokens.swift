public import Foundation

/// The two tokens of a session, which a ``TokenStore`` stores. They print as redacted.
public struct Tokens: Sendable, Hashable, Codable {
    private let hiddenToken: Hidden
    private let hiddenRefreshToken: Hidden
    /// When ``token`` expires, by the clock of this device.
    public let expiresAt: Date

    /// The token of requests.
    public var token: String { hiddenToken.rawValue }
    /// The refresh token, valid once.
    public var refreshToken: String { hiddenRefreshToken.rawValue }
    /// Whether they are worth nothing without the app's key: then they begin with its thumbprint.
    var areBound: Bool { refreshToken.utf8.dropFirst(43).first == UInt8(ascii: "~") }

    /// The tokens of a session.
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

/// The result of a sign-in.
public struct Session: Sendable, Hashable {
    /// The tokens, already stored in the ``TokenStore``.
    public let tokens: Tokens
    /// Whether this sign-in created the user.
    public let isNewUser: Bool
    /// The sign-in's identifier in the carrier's and the server's logs.
    public let correlationID: String
}
