import Crypto
package import OpenIDConnect
package import Primitives
package import StorageModel

/// The encryption of the ID tokens that are kept for logout: AES-256-GCM under a key that HKDF-SHA-256 (RFC 5869)
/// derives from the family of the session's refresh tokens, so that the next refresh tokens open it as well.
///
/// A session token reveals no family. So this key is also stored, encrypted under one that the session token derives,
/// and encrypted again for the new session token at each refresh. The store has only hashes of all these tokens.
extension SealedIDToken {
    /// Nil if the tokens are not those of a session.
    package init?(_ hint: IDTokenHint, openedBy tokens: SessionTokens) {
        guard let refreshToken = PresentedRefreshToken(tokens.refreshToken),
            let content = try? Self.key(of: refreshToken).seal(
                Array((hint.issuer + "\n" + hint.token.exposed).utf8)),
            let sessionKey = Self.sessionKey(for: tokens.token.exposed, of: refreshToken)
        else { return nil }
        self.init(content: content, sessionKey: sessionKey)
    }

    /// The key of a session's ID token, encrypted for a new session token.
    static func sessionKey(for token: String, of refreshToken: PresentedRefreshToken) -> [UInt8]? {
        let key = key(of: refreshToken).withUnsafeBytes { Array($0) }
        return try? Self.key(ofSessionToken: token).seal(key)
    }

    /// The ID token; nil for the token of another session, and for one that a refresh has replaced.
    package func hint(forSessionToken token: Secret) -> IDTokenHint? {
        guard let key = Self.key(ofSessionToken: token.exposed).open(sessionKey), key.count == 32 else { return nil }
        return hint(under: SymmetricKey(data: key))
    }

    /// The ID token; nil for a refresh token of another session.
    package func hint(forRefreshToken token: Secret) -> IDTokenHint? {
        PresentedRefreshToken(token).flatMap { hint(under: Self.key(of: $0)) }
    }

    private func hint(under key: SymmetricKey) -> IDTokenHint? {
        guard let bytes = key.open(content), let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        return IDTokenHint(
            issuer: String(decoding: bytes[..<end], as: UTF8.self),
            token: Secret(String(decoding: bytes[(end + 1)...], as: UTF8.self)))
    }

    private static func key(of refreshToken: PresentedRefreshToken) -> SymmetricKey {
        SymmetricKey(derivedFrom: refreshToken.family, for: "latchkey ID token of a session")
    }

    private static func key(ofSessionToken token: String) -> SymmetricKey {
        SymmetricKey(derivedFrom: token, for: "latchkey key of a session's ID token")
    }
}
