import Crypto
import Primitives

/// SHA-256 over texts.
enum Digest {
    static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// What a code challenge of the method S256 is made by (RFC 7636 section 4.2).
    static func codeChallenge(of verifier: String) -> String { Base64URL.encode(sha256(Array(verifier.utf8))) }
}
