import Primitives

/// The form of session tokens and refresh tokens: base64url of a time of issue and of random bytes.
///
/// The time orders the tokens' hashes in the database. It has no other meaning, and 240 random bits remain. It is 6
/// bytes: 4 for the second since 1970, and 2 for the part of it, most significant first.
///
/// A refresh token that replaced another one has 43 characters and a dot in front, the family. Tokens that were issued
/// before this form have 43 characters instead of 48, all random. In front of all that, a token that is bound to a key
/// has the key's thumbprint (RFC 7638) and a tilde, so that the store finds no token under another key than its own.
package enum SessionTokenFormat {
    /// The length of the time and 30 random bytes in base64url.
    package static let characters = 48
    /// The length of a token without a time, and of a family: 32 bytes in base64url.
    package static let untimedCharacters = 43
    /// The number of random bytes in a token.
    package static let randomBytes = 30

    /// Whether a token, or the part of a refresh token after its family, can have so many characters.
    package static func isLength(_ count: Int) -> Bool { count == characters || count == untimedCharacters }

    /// Whether a text can be a session token.
    package static func isSessionToken(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        isLength(isBound(text) ? text.count - untimedCharacters - 1 : text.count)
    }

    /// Whether a text has the form of a token that is bound to a key.
    package static func isBound(_ text: some Collection<UInt8>) -> Bool {
        // Each step of a generic collection is a call, and each session check asks.
        let found = text.withContiguousStorageIfAvailable { bytes in
            bytes.count > untimedCharacters && bytes[untimedCharacters] == UInt8(ascii: "~")
        }
        return found ?? (text.dropFirst(untimedCharacters).first == UInt8(ascii: "~"))
    }

    /// The thumbprint of the key that a token is bound to; nil if it is bound to none.
    package static func key(of token: String) -> String? {
        isBound(token.utf8) ? String(token.utf8.prefix(untimedCharacters)) : nil
    }

    /// The time's 6 bytes, for a new token.
    package static func time(at second: Int64, fraction: UInt16) -> [UInt8] {
        let time = UInt64(UInt32(truncatingIfNeeded: second)) << 16 | UInt64(fraction)
        return (0..<6).map { UInt8(truncatingIfNeeded: time >> (40 - 8 * UInt64($0))) }
    }

    /// The time in a token, as a number of 48 bits; nil if it has none.
    static func time(of token: UnsafeBufferPointer<UInt8>) -> UInt64? {
        let start = token.count - characters
        // A key, a family, or both may be in front.
        guard start >= 0, start % (untimedCharacters + 1) == 0, start <= 2 * (untimedCharacters + 1) else { return nil }
        return Base64URL.bits(of: token, from: start, count: 8)
    }
}
