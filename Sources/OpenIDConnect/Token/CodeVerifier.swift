import Crypto
public import Primitives

/// A PKCE code verifier (RFC 7636 section 4.1): 43 to 128 unreserved characters.
public struct CodeVerifier: Sendable, Hashable {
    /// The text. Only the token endpoint may receive it.
    public let secret: Secret

    /// A verifier, or nil if the text has another length or other characters.
    public init?(_ text: String) {
        guard Self.isValid(text) else { return nil }
        secret = Secret(text)
    }

    private init(_ secret: Secret) { self.secret = secret }

    /// A new verifier of 256 random bits: 43 characters.
    public static func random(from source: RandomSource) -> CodeVerifier {
        CodeVerifier(Secret(source.token(bytes: 32)))
    }

    /// Whether a text has the length and the characters of a verifier (RFC 7636 section 4.1).
    public static func isValid(_ text: String) -> Bool {
        guard (43...128).contains(text.utf8.count) else { return false }
        return text.withBytes { $0.allSatisfy { PercentEncoding.isUnreserved($0) } }
    }

    /// The S256 code challenge (RFC 7636 section 4.2): base64url of the verifier's SHA-256, 43 characters.
    public var challenge: String { Base64URL.encode(secret.sha256) }
}

extension Secret {
    /// The SHA-256 of the text, 32 bytes.
    var sha256: [UInt8] { Array(SHA256.hash(data: Array(exposed.utf8))) }
}
