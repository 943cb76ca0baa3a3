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
        // A provider that leaves the kid out, or writes another one, has one key only.
        let named = keys.filter { $0.keyID == token.keyID }
        for key in named.isEmpty ? keys : named {
            guard let content = key.open(token), let text = String(validating: content, as: UTF8.self) else { continue }
            return Secret(text)
        }
        return nil
    }
}

/// How the key of an encrypted token reaches the client (RFC 7518 section 4.1). The raw value is the `alg`. RSA1_5,
/// whose padding tells a forger too much, and algorithms with a secret of both sides are not among them.
public enum KeyManagementAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// RSAES-OAEP with SHA-256 (RFC 7518 section 4.3).
    case rsaOAEP256 = "RSA-OAEP-256"
    /// Direct key agreement with an ephemeral key on P-256 (RFC 7518 section 4.6).
    case ecdhES = "ECDH-ES"
}

/// How the content of an encrypted token is encrypted (RFC 7518 section 5.1). The raw value is the `enc`. Both check
/// that nothing was changed as they decrypt.
public enum ContentEncryption: String, Sendable, Hashable, CaseIterable {
    /// AES-GCM with a key of 128 bits.
    case a128GCM = "A128GCM"
    /// AES-GCM with a key of 256 bits.
    case a256GCM = "A256GCM"

    var keyBytes: Int {
        switch self {
        case .a128GCM: 16
        case .a256GCM: 32
        }
    }
}

/// What a provider can encrypt one kind of response with, as far as it lists algorithms that this module supports.
public struct EncryptionSupport: Sendable, Hashable {
    /// Nil without a list.
    public private(set) var algorithms: Set<KeyManagementAlgorithm>?
    /// Nil without a list.
    public private(set) var encryptions: Set<ContentEncryption>?
}

extension EncryptionSupport {
    /// - Parameter response: The word for the kind of response in the names of the lists.
    init(of response: String, _ reader: MetadataReader) {
        algorithms = try? reader.known("\(response)_encryption_alg_values_supported")
        encryptions = try? reader.known("\(response)_encryption_enc_values_supported")
    }
}
