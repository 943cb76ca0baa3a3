import Crypto
import Primitives
import StorageModel

/// A refresh token as an app shows it: the first one of a session is 43 characters of base64url. All that come after it have
/// 43 others and a dot in front, which stay the same and follow from the first.
///
/// So whatever token of a session is shown, it says which session it was of. A thief who exchanges tokens as fast as the
/// server lets him cannot make it forget the one that its owner still holds.
struct PresentedRefreshToken {
    let text: String
    /// What the next token begins with.
    let family: String

    /// Nil if the text cannot be a refresh token.
    init?(_ token: Secret) {
        text = token.exposed
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), parts.allSatisfy({ $0.count == SessionTokens.characters }) else {
            return nil
        }
        family = parts.count == 2 ? String(Substring(parts[0])) : Self.family(ofFirst: text)
    }

    var hashes: RefreshTokenHashes {
        // No token has a space, so that no token's hash is a family's.
        RefreshTokenHashes(token: TokenHash(sha256Of: text), family: TokenHash(sha256Of: "family " + family))
    }

    /// HKDF-SHA-256 (RFC 5869), which does not lead back to the token.
    private static func family(ofFirst text: String) -> String {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(text.utf8)),
            info: Array("latchkey family of refresh tokens".utf8), outputByteCount: 32)
        return Base64URL.encode(key.withUnsafeBytes { Array($0) })
    }
}
