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
    static func entries(of body: [UInt8]) -> [JSONValue]? {
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

/// All entries of a key set, with the reason why an entry is not used. For administrators.
package struct KeySetReport: Sendable {
    package struct Entry: Sendable, Hashable {
        /// The key id on one line; nil if there is none, or it is not a text.
        package let keyID: String?
        /// The `kty` and `crv`: `RSA`, `EC P-256`, …
        package let kind: String
        /// What the key can verify; empty if it cannot be used.
        package let algorithms: [SigningAlgorithm]
        /// The size of the modulus, or of the curve.
        package let bits: Int?
        /// Why the key cannot be used.
        package let refusal: PublicKey.KeyError?
    }

    package let entries: [Entry]

    /// Nil if it is not a key set, or has too many entries, or none.
    package init?(parsing body: [UInt8]) {
        guard let values = JSONWebKeySet.entries(of: body) else { return nil }
        entries = values.map(Entry.init)
    }
}

extension KeySetReport.Entry {
    fileprivate init(_ value: JSONValue) {
        guard let object = value.object else {
            self.init(keyID: nil, kind: "no object", algorithms: [], bits: nil, refusal: .kind)
            return
        }
        let names = [object["kty"]?.string, object["crv"]?.string].compactMap { $0.map(DisplayText.line) }
        let keyID = object["kid"]?.string.map(DisplayText.line)
        let kind = names.isEmpty ? "no kty" : names.joined(separator: " ")
        do throws(PublicKey.KeyError) {
            let key = try PublicKey(object)
            self.init(keyID: keyID, kind: kind, algorithms: key.algorithms, bits: key.bits, refusal: nil)
        } catch {
            let bits = object["n"]?.string.flatMap { Base64URL.decode($0) }.map { $0.drop { $0 == 0 }.count * 8 }
            self.init(keyID: keyID, kind: kind, algorithms: [], bits: bits, refusal: error)
        }
    }
}
