package import Primitives

/// The refresh tokens of sessions (RFC 9700 section 4.14.2).
package protocol RefreshTokenStore: Sendable {
    /// The state of a refresh token at `now`.
    func refreshToken(_ token: RefreshTokenHashes, at now: Timestamp) async throws(StorageError) -> RefreshTokenState

    /// Replaces a session's tokens. False if the presented refresh token is not the session's live one; then nothing
    /// changed.
    func rotate(_ rotation: RefreshTokenRotation) async throws(StorageError) -> Bool
}
