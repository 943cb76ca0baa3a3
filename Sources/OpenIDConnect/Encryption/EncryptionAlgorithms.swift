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

    /// Of the key.
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
    public let algorithms: Set<KeyManagementAlgorithm>?
    /// Nil without a list.
    public let encryptions: Set<ContentEncryption>?

    /// Of a provider that lists nothing.
    static let unknown = EncryptionSupport(algorithms: nil, encryptions: nil)
}
