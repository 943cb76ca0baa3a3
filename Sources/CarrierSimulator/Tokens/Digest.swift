import Crypto
import Primitives

/// SHA-256.
enum Digest {
    static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// The S256 code challenge of a code verifier (RFC 7636 section 4.2).
    static func codeChallenge(of verifier: String) -> String { Base64URL.encode(sha256(Array(verifier.utf8))) }
}
