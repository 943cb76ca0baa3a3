import Crypto
import Primitives
import StorageModel

/// What a carrier has to show when it tells of one request of a server-initiated sign-in, and what follows from it.
///
/// `state` and `nonce` are hashes of the token, so that nothing but the token's own hash need be kept: whoever brings the
/// token brings all three.
struct NotificationToken: Sendable {
    let text: Secret
    let hash: TokenHash
    let state: Secret
    let nonce: Secret

    init(_ text: Secret) throws(SignInError) {
        self.text = text
        hash = try TokenHash(sha256Of: text.exposed)
        state = Self.derived("state", text)
        nonce = Self.derived("nonce", text)
    }

    private static func derived(_ purpose: String, _ text: Secret) -> Secret {
        let key = SymmetricKey(data: Array(text.exposed.utf8))
        let code = HMAC<SHA256>.authenticationCode(for: Array(purpose.utf8), using: key)
        return Secret(Base64URL.encode(Array(code)))
    }
}
