import Crypto
import Primitives

/// Subject identifiers as ZenKey's carriers make them: `mccmnc-` and an opaque part, another one for each client
/// (OpenID Connect Core section 8.1, pairwise).
enum Subject {
    static func identifier(mccmnc: String, clientID: String, userID: String) -> String {
        var hash = SHA256()
        for part in [mccmnc, clientID, userID] {
            hash.update(data: Array(part.utf8))
            // A byte that no text has keeps "a", "bc" apart from "ab", "c".
            hash.update(data: [0xFF])
        }
        return "\(mccmnc)-\(Base64URL.encode(Array(hash.finalize()).prefix(16)))"
    }
}
