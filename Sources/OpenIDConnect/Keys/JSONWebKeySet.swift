import Primitives

/// A provider's signing keys (RFC 7517 section 5), ready to verify with.
package struct JSONWebKeySet: Sendable {
    /// Larger sets are refused: no provider signs with so many.
    static let maximumKeys = 100
    /// How many keys are tried for one token at most, when several bear its key id.
    static let maximumCandidates = 4

    let keys: [PublicKey]

    package var count: Int { keys.count }

    /// Reads a key set. Entries we cannot use are passed over, as RFC 7517 section 5 wants, so that it may have no key;
    /// nil if it is no key set, or has too many entries, or none.
    package init?(parsing body: [UInt8]) {
        guard let entries = Self.entries(of: body) else { return nil }
        keys = entries.compactMap { entry in entry.object.flatMap { try? PublicKey($0) } }
    }

    /// The entries of a key set, of which there must be some, and not too many.
    static func entries(of body: [UInt8]) -> [JSONValue]? {
        guard let entries = (try? JSONValue(parsing: body))?.object?["keys"]?.array,
            (1...maximumKeys).contains(entries.count)
        else { return nil }
        return entries
    }

    /// The keys that may have signed a token: of its key id if it names one, and never another then; otherwise the only
    /// one there is for its algorithm.
    func candidates(for token: SignedToken) -> [PublicKey] {
        var candidates: [PublicKey] = []
        for key in keys where key.algorithm == token.algorithm {
            if let keyID = token.keyID {
                guard let named = key.keyID, named.hasSameBytes(as: keyID) else { continue }
                if candidates.count == Self.maximumCandidates { break }
            }
            candidates.append(key)
        }
        return token.keyID == nil && candidates.count > 1 ? [] : candidates
    }
}
