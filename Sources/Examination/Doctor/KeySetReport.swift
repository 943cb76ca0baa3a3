package import OpenIDConnect
import Primitives

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
