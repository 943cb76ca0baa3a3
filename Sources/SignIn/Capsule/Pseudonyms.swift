import Crypto
import Primitives

/// Replaces the values of one capsule by pseudonyms.
///
/// A pseudonym is a kind, a length in bytes and a keyed digest: `‹text 24 9f2c31d07ab4›`. Equal values have equal
/// pseudonyms within one capsule. The key is random and is thrown away with the pseudonyms, so that no value can be
/// found by guessing, and two capsules cannot be joined.
struct Pseudonyms {
    private let key: SymmetricKey
    /// The replaced values.
    private var replaced: Set<String> = []

    init(_ random: RandomSource) { key = SymmetricKey(data: random.bytes(32)) }

    mutating func pseudonym(of value: String, kind: String = "text") -> String {
        replaced.insert(value)
        let digest = HMAC<SHA256>.authenticationCode(for: Array(value.utf8), using: key)
        return "‹\(kind) \(value.utf8.count) \(Array(digest.prefix(6)).hexadecimal)›"
    }

    /// A sentence of this program; nil if it contains a replaced value, which no sentence should. Values of fewer than
    /// eight bytes, and those with spaces, are not looked for: a provider could send words of the sentence.
    func sentence(_ text: String) -> String? {
        let contains = replaced.contains { $0.utf8.count >= 8 && !$0.utf8.contains(0x20) && text.contains($0) }
        return contains ? nil : text
    }
}
