package import Primitives

/// How one kind of response is encrypted for a client, as it is registered: ID tokens
/// (`id_token_encrypted_response_alg` and `id_token_encrypted_response_enc`) or userinfo
/// (`userinfo_encrypted_response_alg` and `userinfo_encrypted_response_enc`, OpenID Connect Dynamic Client Registration
/// 1.0 section 2).
public struct ResponseDecryption: Sendable, Hashable {
    /// The key whose public half is published. Its algorithm is the only one.
    public let key: DecryptionKey
    /// A second key, which is not published: the key before, or the key after a replacement.
    public let otherKey: DecryptionKey?
    /// The only content encryption.
    public let encryption: ContentEncryption

    /// - Parameter otherKey: Nil for none.
    public init(key: DecryptionKey, otherKey: DecryptionKey? = nil, encryption: ContentEncryption) {
        self.key = key
        self.otherKey = otherKey
        self.encryption = encryption
    }

    /// What an encrypted token contains (RFC 7516), which is not verified: a signed token, or claims.
    ///
    /// Nil, whatever is wrong: the token is not encrypted, for another key or with another algorithm, or was changed.
    package func content(of text: Secret, maximumBytes: Int) -> Secret? {
        guard let token = EncryptedToken(text, maximumBytes: maximumBytes), token.encryption == encryption else {
            return nil
        }
        let keys = [key, otherKey].compactMap(\.self)
        // A provider that leaves the kid out, or writes one of its own, has one key only.
        let named = keys.filter { $0.keyID == token.keyID }
        for key in named.isEmpty ? keys : named {
            guard let content = key.open(token), let text = String(validating: content, as: UTF8.self) else { continue }
            return Secret(text)
        }
        return nil
    }
}
