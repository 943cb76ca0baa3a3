import Crypto
import Primitives

/// Replaces the values of one capsule by pseudonyms.
///
/// A pseudonym is a kind, a length in bytes and a keyed digest: `‹word 24 9f2c31d07ab4›`. Equal values have equal
/// pseudonyms within one capsule. The key is random and is thrown away with the pseudonyms, so that no value can be
/// found by guessing, and two capsules cannot be joined.
struct Pseudonyms {
    /// What kind of value a pseudonym stands for, as far as checks depend on it.
    enum Kind: String, CaseIterable {
        /// Letters, digits, `-` and `_`.
        case word
        /// Visible ASCII characters.
        case visible
        /// Visible ASCII characters that begin with the scheme of a URI (RFC 3986 section 3.1).
        case uri
        /// Visible ASCII characters and spaces.
        case ascii
        /// Any other text without control characters.
        case text
        /// A text with control characters.
        case control
        /// The name of a member.
        case name
        /// A number that is whole, not negative, and below 2⁶³.
        case integer
        /// A whole number below zero.
        case negative
        /// Any other number.
        case fraction
        /// A time more than ten years before the failure.
        case past
        /// A time more than ten years after the failure.
        case future
        /// A number of seconds from 2⁵³ on, which is no time.
        case beyond

        /// The kind of a text.
        init(of text: String) {
            let bytes = text.utf8
            if bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
                self = .control
            } else if bytes.isEmpty || bytes.contains(where: { $0 > 0x7F }) {
                self = .text
            } else if bytes.contains(0x20) {
                self = .ascii
            } else {
                self = bytes.allSatisfy(Self.isOfWord) ? .word : Self.hasScheme(bytes) ? .uri : .visible
            }
        }

        private static func hasScheme(_ bytes: String.UTF8View) -> Bool {
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes.index(after: colon) < bytes.endIndex,
                let first = bytes.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first | 0x20)
            else { return false }
            return bytes[..<colon].allSatisfy { byte in
                isOfWord(byte) && byte != UInt8(ascii: "_") || "+.".utf8.contains(byte)
            }
        }

        private static func isOfWord(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// The fewest bytes of a member's name that may be a secret or personal. Shorter ones may be words of a sentence.
    private static let longName = 16

    private let key: SymmetricKey
    /// The replaced values, without the short names of members.
    private var replaced: Set<String> = []

    init(_ random: RandomSource) { key = SymmetricKey(data: random.bytes(32)) }

    /// - Parameter kind: Nil for the kind of the text.
    mutating func pseudonym(of value: String, kind: Kind? = nil) -> String {
        if kind != .name || value.utf8.count >= Self.longName { replaced.insert(value) }
        let digest = HMAC<SHA256>.authenticationCode(for: Array(value.utf8), using: key)
        let kind = kind ?? Kind(of: value)
        return "‹\(kind.rawValue) \(value.utf8.count) \(Array(digest.prefix(6)).hexadecimal)›"
    }

    /// A sentence of this program; nil if it contains a replaced value, which no sentence should. Values of fewer than
    /// eight bytes, those with spaces, known names of members and short ones are not looked for: a provider could send
    /// words of the sentence.
    func sentence(_ text: String) -> String? {
        let contains = replaced.contains { value in
            value.utf8.count >= 8 && !value.utf8.contains(0x20) && !CapsuleVocabulary.names.contains(value)
                && text.contains(value)
        }
        return contains ? nil : text
    }
}
