import Primitives

/// Values in the place of a capsule's pseudonyms: of the same kind and length, and equal ones for equal pseudonyms, so
/// that a rule finds the form and the equality that it had found. A time far away stays on its side of the moment.
struct StandIns {
    /// The most bytes of all values together. No token that is read is longer.
    private var bytesLeft = 64 * 1024

    /// What a rule compares with configured texts keeps its pseudonym, which is none of them.
    private static let comparedClaims: Set = ["iss", "aud", "azp", "acr"]

    /// The claims of a token with values in the place of pseudonyms.
    /// - Throws: ``CapsuleReplay/Refusal`` if they are longer than those of any token.
    mutating func claims(_ shown: JSONObject) throws(CapsuleReplay.Refusal) -> JSONObject? {
        var claims: [(name: String, value: JSONValue?)] = []
        for member in shown.members {
            let isCompared = Self.comparedClaims.contains(member.name)
            claims.append((member.name, isCompared ? member.value : try value(member.value)))
        }
        return JSONValue.object(of: claims).object
    }

    /// A text with a value in the place of a pseudonym.
    mutating func text(_ shown: JSONValue?) throws(CapsuleReplay.Refusal) -> String? {
        guard let shown else { return nil }
        return try value(shown).string
    }

    private mutating func value(_ shown: JSONValue) throws(CapsuleReplay.Refusal) -> JSONValue {
        guard let text = shown.string, text.hasPrefix("‹"), text.hasSuffix("›") else { return shown }
        let words = text.dropFirst().dropLast().split(ascii: " ")
        guard words.count == 3, let kind = Pseudonyms.Kind(rawValue: String(words[0])), let length = Int(words[1]),
            length >= 0
        else { return shown }
        guard length <= bytesLeft else {
            throw CapsuleReplay.Refusal(.unreadable, "its values are longer than those of any capsule")
        }
        bytesLeft -= length
        return Self.value(kind, length, digest: Array(words[2].utf8))
    }

    private static func value(_ kind: Pseudonyms.Kind, _ length: Int, digest: [UInt8]) -> JSONValue {
        switch kind {
        case .word, .visible, .uri, .name: return .string(letters(length, digest))
        case .ascii: return .string(letters(length, digest, first: " "))
        case .text: return .string(letters(length, digest, first: length > 1 ? "é" : ""))
        case .control: return .string(letters(length, digest, first: "\n"))
        case .integer:
            var number: Int64 = 1
            for _ in 1..<max(1, min(length, 19)) { number *= 10 }
            return .integer(number)
        case .negative: return -1
        case .fraction: return .number(0.5)
        case .past: return 1
        case .future: return .integer(1 << 52)
        case .beyond: return .integer(.max)
        }
    }

    /// A text of so many bytes.
    private static func letters(_ length: Int, _ digest: [UInt8], first: String = "") -> String {
        let letters = (first.utf8.count..<max(first.utf8.count, length)).map { digest[$0 % digest.count] }
        return first + String(decoding: letters, as: UTF8.self)
    }
}
