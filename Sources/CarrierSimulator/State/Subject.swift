import Crypto
import Primitives

/// Subject identifiers in the form of ZenKey's carriers: `mccmnc-` and an opaque part that differs for each client
/// (pairwise, OpenID Connect Core section 8.1).
enum Subject {
    static func identifier(mccmnc: String, clientID: String, userID: String) -> String {
        var hash = SHA256()
        for part in [mccmnc, clientID, userID] {
            hash.update(data: Array(part.utf8))
            // A byte that never occurs in UTF-8 separates the parts.
            hash.update(data: [0xFF])
        }
        return "\(mccmnc)-\(Base64URL.encode(Array(hash.finalize()).prefix(16)))"
    }
}
