import Crypto
import Primitives
import StorageModel

/// The token that a carrier must present with a notification about one request.
///
/// `state` and `nonce` are derived from the token, so that only the token's hash is stored: a carrier that presents the
/// token presents all three.
struct NotificationToken: Sendable {
    let text: Secret
    let hash: TokenHash
    let state: Secret
    let nonce: Secret

    init(_ text: Secret) {
        self.text = text
        hash = TokenHash(sha256Of: text.exposed)
        state = Self.derived("state", text)
        nonce = Self.derived("nonce", text)
    }

    private static func derived(_ purpose: String, _ text: Secret) -> Secret {
        let key = SymmetricKey(data: Array(text.exposed.utf8))
        let code = HMAC<SHA256>.authenticationCode(for: Array(purpose.utf8), using: key)
        return Secret(Base64URL.encode(Array(code)))
    }
}
