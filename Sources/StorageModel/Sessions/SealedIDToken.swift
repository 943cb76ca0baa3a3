/// The ID token of a session's sign-in, encrypted so that only the session's own tokens open it; the store has the
/// hashes of those alone, and cannot.
package struct SealedIDToken: Sendable, Hashable {
    /// The token under a key that every refresh token of the session derives.
    package let content: [UInt8]
    /// That key, under one that the session token derives.
    package let sessionKey: [UInt8]

    package init(content: [UInt8], sessionKey: [UInt8]) {
        self.content = content
        self.sessionKey = sessionKey
    }
}
