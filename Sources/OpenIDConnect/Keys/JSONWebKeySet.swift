package import Primitives

/// A provider's signing keys (RFC 7517 section 5), ready to verify with.
package struct JSONWebKeySet: Sendable {
    /// Larger sets are refused. No provider signs with so many keys.
    static let maximumKeys = 100
    /// How many keys with the same key id are tried for one token.
    static let maximumCandidates = 4

    let keys: [PublicKey]

    package var count: Int { keys.count }

    /// The keys, at most so many: first those with a key id, in their order.
    package func keys(named keyID: String?, limit: Int) -> [PublicKey] {
        let named = keys.filter { $0.keyID == keyID }
        let others = keys.filter { $0.keyID != keyID }
        return Array((named.prefix(limit / 2) + others).prefix(limit))
    }

    /// Whether a key verifies the signature of a token in compact form; nil if the token has none of a known kind.
    package func verifies(_ token: Secret, maximumBytes: Int) -> Bool? {
        guard let token = CompactToken(token, maximumBytes: maximumBytes).flatMap({ SignedToken($0) }) else {
            return nil
        }
        return SignatureValidationContext(token, keys: self).verifies
    }

    /// Reads a key set. Entries that cannot be used are ignored (RFC 7517 section 5), so the set may have no key. Nil
    /// if it is not a key set, or has too many entries, or none.
    package init?(parsing body: [UInt8]) {
        guard let entries = Self.entries(of: body) else { return nil }
        keys = entries.compactMap { entry in entry.object.flatMap { try? PublicKey($0) } }
    }

    /// The entries of a key set, 1 to ``maximumKeys``.
    package static func entries(of body: [UInt8]) -> [JSONValue]? {
        guard let entries = (try? JSONValue(parsing: body))?.object?["keys"]?.array,
            (1...maximumKeys).contains(entries.count)
        else { return nil }
        return entries
    }

    /// The keys that may have signed a token: those with its key id if it names one, else the only key for its
    /// algorithm.
    func candidates(for token: SignedToken) -> [PublicKey] {
        var candidates: [PublicKey] = []
        for key in keys where key.algorithms.contains(token.algorithm) {
            if let keyID = token.keyID {
                guard let named = key.keyID, named.hasSameBytes(as: keyID) else { continue }
                if candidates.count == Self.maximumCandidates { break }
            }
            candidates.append(key)
        }
        return token.keyID == nil && candidates.count > 1 ? [] : candidates
    }
}
