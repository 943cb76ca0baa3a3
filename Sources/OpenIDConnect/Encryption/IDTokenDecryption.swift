package import Primitives

/// How the ID tokens of a client are encrypted, as it is registered (`id_token_encrypted_response_alg` and
/// `id_token_encrypted_response_enc`, OpenID Connect Dynamic Client Registration 1.0 section 2).
public struct IDTokenDecryption: Sendable, Hashable {
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

    /// The signed token that an encrypted one contains (OpenID Connect Core section 16.14: signed, then encrypted). It
    /// is not verified.
    ///
    /// - Throws: ``IDTokenCheck/encryption``, whatever is wrong: the token is not encrypted, for another key or
    ///   with another algorithm, or was changed.
    package func open(_ idToken: Secret, maximumBytes: Int) throws(OIDCError) -> Secret {
        guard let token = EncryptedToken(idToken, maximumBytes: maximumBytes), token.encryption == encryption else {
            throw .failed(.encryption)
        }
        let keys = [key, otherKey].compactMap(\.self)
        // A provider that leaves the kid out, or writes one of its own, has one key only.
        let named = keys.filter { $0.keyID == token.keyID }
        for key in named.isEmpty ? keys : named {
            guard let content = key.open(token), let text = String(validating: content, as: UTF8.self) else { continue }
            return Secret(text)
        }
        throw .failed(.encryption)
    }
}
