package import Crypto
package import Primitives

/// The SHA-256 of a token or an API key: the only part of a secret that is stored.
///
/// The hash of a session's token begins with their time of issue (``SessionTokenFormat``).
///
/// Four words instead of an array, so that a copy allocates nothing.
package struct TokenHash: Sendable {
    private var words: (UInt64, UInt64, UInt64, UInt64)

    /// Hashes the UTF-8 bytes of a text.
    package init(sha256Of text: String) { self = text.withBytes { TokenHash(sha256Of: $0) } }

    /// Hashes the UTF-8 bytes of a text of which there is no `String`.
    package init(sha256Of text: UnsafeBufferPointer<UInt8>) {
        var hash = SHA256()
        hash.update(bufferPointer: UnsafeRawBufferPointer(text))
        self = hash.finalize().withUnsafeBytes { TokenHash(loading: $0) }
    }

    /// Hashes the UTF-8 bytes of a text with a key (HMAC with SHA-256), where the texts are few enough to try them all.
    package init(hmacOf text: String, key: SymmetricKey) {
        let code = HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key)
        self = code.withUnsafeBytes { TokenHash(loading: $0) }
    }

    /// Hashes a session token or a refresh token. If the token has a time of issue (``SessionTokenFormat``), its 6
    /// bytes are in the place of the hash's first 6: so the hashes of new sessions are neighbours in the database's
    /// indexes, and the sign-ins of one commit write a few pages there instead of one each.
    package init(ofSessionToken text: String) { self = text.withBytes { TokenHash(ofSessionToken: $0) } }

    /// As ``init(ofSessionToken:)-(String)``, for the UTF-8 bytes of a token of which there is no `String`.
    package init(ofSessionToken text: UnsafeBufferPointer<UInt8>) {
        self.init(sha256Of: text)
        if let time = SessionTokenFormat.time(of: text) { begin(with: time) }
    }

    /// The SHA-256 of a provider's token, with the time of issue in the place of its first 6 bytes, as a session
    /// token's hash has it.
    package init(_ digest: SHA256.Digest, issuedAt time: Timestamp) {
        self = digest.withUnsafeBytes { TokenHash(loading: $0) }
        begin(with: UInt64(truncatingIfNeeded: time.secondsSinceEpoch) << 16)
    }

    /// - Parameter time: Its low 48 bits count.
    private mutating func begin(with time: UInt64) {
        Swift.withUnsafeMutableBytes(of: &words) { bytes in
            for index in 0..<6 { bytes[index] = UInt8(truncatingIfNeeded: time >> (40 - 8 * UInt64(index))) }
        }
    }

    /// Takes a hash from a database column or a configuration file; nil unless there are 32 bytes.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 32 else { return nil }
        self.init(loading: bytes)
    }

    /// Takes a hash from a database column or a configuration file; nil unless there are 32 bytes.
    package init?(_ bytes: [UInt8]) {
        guard let hash = bytes.withUnsafeBytes({ TokenHash($0) }) else { return nil }
        self = hash
    }

    /// - Parameter bytes: 32 of them.
    private init(loading bytes: UnsafeRawBufferPointer) {
        words = bytes.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64).self)
    }

    /// The last word: identifies the secret where a number is enough, such as the key of a rate limit.
    package var number: UInt64 { words.3 }

    /// The 32 bytes.
    package var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    /// Gives the 32 bytes to `body` without a copy.
    package func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        Swift.withUnsafeBytes(of: words, body)
    }
}

extension TokenHash: Hashable {
    /// Compares in constant time: the duration does not tell where two hashes differ.
    package static func == (left: TokenHash, right: TokenHash) -> Bool {
        let difference =
            (left.words.0 ^ right.words.0) | (left.words.1 ^ right.words.1) | (left.words.2 ^ right.words.2)
            | (left.words.3 ^ right.words.3)
        return difference == 0
    }

    /// Feeds eight of the bytes to the hasher, which are as random as all.
    package func hash(into hasher: inout Hasher) { hasher.combine(number) }
}
