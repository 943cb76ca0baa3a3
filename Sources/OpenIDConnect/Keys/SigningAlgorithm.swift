import Crypto
import Primitives

/// A signature algorithm of public keys (RFC 7518 section 3.1, RFC 8037 section 3.1, RFC 9864). HMAC, whose key both
/// sides know, and `none` are not among them.
public enum SigningAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    case rs384 = "RS384"
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    case rs512 = "RS512"
    /// RSASSA-PSS with SHA-256.
    case ps256 = "PS256"
    /// RSASSA-PSS with SHA-384.
    case ps384 = "PS384"
    /// RSASSA-PSS with SHA-512.
    case ps512 = "PS512"
    /// ECDSA with P-256 and SHA-256.
    case es256 = "ES256"
    /// ECDSA with P-384 and SHA-384.
    case es384 = "ES384"
    /// ECDSA with P-521 and SHA-512.
    case es512 = "ES512"
    /// Ed25519 under its first name, which it shares with Ed448.
    case edDSA = "EdDSA"
    /// Ed25519 under its own name.
    case ed25519 = "Ed25519"

    /// What providers may sign with if a client's registration names no algorithm.
    public static let standard: Set<SigningAlgorithm> = [.rs256, .es256]

    /// The hash that a token's signature is of, and that `at_hash` is made with (OpenID Connect Core section 3.1.3.6).
    var hash: Hash {
        switch self {
        case .rs256, .ps256, .es256: .sha256
        case .rs384, .ps384, .es384: .sha384
        // Ed25519 hashes with SHA-512 by itself (RFC 8032 section 5.1).
        case .rs512, .ps512, .es512, .edDSA, .ed25519: .sha512
        }
    }

    /// A hash function of SHA-2.
    enum Hash: Sendable {
        case sha256, sha384, sha512

        func bytes(of text: Secret) -> [UInt8] {
            let bytes = Array(text.exposed.utf8)
            return switch self {
            case .sha256: Array(SHA256.hash(data: bytes))
            case .sha384: Array(SHA384.hash(data: bytes))
            case .sha512: Array(SHA512.hash(data: bytes))
            }
        }
    }
}

/// What a signature was made of, as far as its algorithm needs it.
enum SignedContent: Sendable {
    case sha256(SHA256.Digest)
    case sha384(SHA384.Digest)
    case sha512(SHA512.Digest)
    /// The content itself: Ed25519 reads it twice, so that a hash would not do.
    case whole([UInt8])

    init(_ content: UnsafeRawBufferPointer, signedBy algorithm: SigningAlgorithm) {
        switch algorithm {
        case .edDSA, .ed25519: self = .whole(Array(content))
        default:
            switch algorithm.hash {
            case .sha256: self = .sha256(SHA256.hash(data: content))
            case .sha384: self = .sha384(SHA384.hash(data: content))
            case .sha512: self = .sha512(SHA512.hash(data: content))
            }
        }
    }
}
