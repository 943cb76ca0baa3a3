import Crypto
import Primitives
import StorageModel

/// A refresh token as an app presents it. The first one of a session is 48 characters of base64url. All later ones have
/// the same family in front, 43 characters derived from the first token, and a dot. (`SessionTokenFormat`)
///
/// So every refresh token identifies its session. However often a thief exchanges tokens, the server still recognises
/// the one that the owner holds.
struct PresentedRefreshToken {
    let text: String
    /// The first half of the next token.
    let family: String

    /// Nil if the text cannot be a refresh token.
    init?(_ token: Secret) {
        text = token.exposed
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let last = parts.last, SessionTokenFormat.isLength(last.count),
            parts.count == 1 || parts[0].count == SessionTokenFormat.untimedCharacters
        else { return nil }
        family = parts.count == 2 ? String(Substring(parts[0])) : Self.family(ofFirst: text)
    }

    var hashes: RefreshTokenHashes {
        // No token has a space, so that no token has a family's hash.
        RefreshTokenHashes(token: TokenHash(ofSessionToken: text), family: TokenHash(sha256Of: "family " + family))
    }

    /// HKDF-SHA-256 (RFC 5869), which does not reveal the token.
    private static func family(ofFirst text: String) -> String {
        let key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: Array(text.utf8)),
            info: Array("latchkey family of refresh tokens".utf8), outputByteCount: 32)
        return Base64URL.encode(key.withUnsafeBytes { Array($0) })
    }
}
