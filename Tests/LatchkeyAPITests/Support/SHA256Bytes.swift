import OpenIDConnect
import Primitives

/// The SHA-256 of a text, had by way of PKCE.
enum SHA256Bytes {
    static func of(_ text: String) -> [UInt8] {
        CodeVerifier(text).flatMap { Base64URL.decode($0.challenge) } ?? []
    }
}
