import Primitives

/// Made-up values in the place of a capsule's pseudonyms: of the same kind and length, equal ones for equal
/// pseudonyms, and different ones for different pseudonyms. So every comparison has the result that it had.
struct MadeUpValues {
    /// The longest value, in bytes. No response that is read has a longer one.
    private static let maximumBytes = 1 << 20
    /// The most bytes of all values together.
    private static let maximumBytesInAll = 4 << 20
    /// The most elements of an array. No array that is read has more.
    private static let maximumElements = 1000
    /// Letters that no word of a specification is made of alone.
    private static let letters = Array("GHKLMNPQRSVWXYZB".utf8)

    private var values: [String: String] = [:]
    private var taken = CapsuleVocabulary.values
    private var bytesLeft = MadeUpValues.maximumBytesInAll

    /// A pseudonym that is read.
    private struct Pseudonym {
        let kind: Pseudonyms.Kind
        let length: Int
        let digest: Substring
    }

    /// A value of a capsule with every pseudonym replaced.
    /// - Throws: ``CapsuleReplay/Refusal`` if the values are too long.
    mutating func value(_ shown: JSONValue) throws(CapsuleReplay.Refusal) -> JSONValue {
        switch shown {
        case .null, .bool, .integer, .number: return shown
        case .string(let text):
            if let pseudonym = Self.whole(text), let number = Self.number(pseudonym) { return number }
            return .string(try self.text(text))
        case .array(let elements):
            var made: [JSONValue] = []
            for element in elements where !Self.isOmission(element) { made.append(try value(element)) }
            // The number of elements can matter; what the others are does not.
            if let count = elements.last.flatMap(Self.count), let last = made.last, made.count < count {
                made += [JSONValue](repeating: last, count: count - made.count)
            }
            return .array(made)
        case .object(let object): return .object(of: try members(object))
        }
    }

    /// The members of an object with every pseudonym replaced. The mark of omitted members is left out.
    mutating func members(
        _ object: JSONObject
    ) throws(CapsuleReplay.Refusal) -> [(name: String, value: JSONValue?)] {
        var members: [(name: String, value: JSONValue?)] = []
        for member in object.members where member.name != "…" {
            members.append((try text(member.name), try value(member.value)))
        }
        return members
    }

    /// A text with every pseudonym in it replaced.
    mutating func text(_ shown: String) throws(CapsuleReplay.Refusal) -> String {
        guard shown.utf8.count >= 3, shown.contains("‹") else { return shown }
        var made = ""
        var rest = shown[...]
        while let start = rest.firstIndex(of: "‹") {
            made += rest[..<start]
            rest = rest[start...]
            guard let end = rest.firstIndex(of: "›") else { break }
            let text = rest[start...end]
            made +=
                try Self.pseudonym(text).map { pseudonym throws(CapsuleReplay.Refusal) in
                    try value(of: pseudonym, named: String(text))
                } ?? String(text)
            rest = rest[rest.index(after: end)...]
        }
        return made + rest
    }

    private mutating func value(
        of pseudonym: Pseudonym, named name: String
    ) throws(CapsuleReplay.Refusal) -> String {
        if let known = values[name] { return known }
        bytesLeft -= pseudonym.length
        guard bytesLeft >= 0 else {
            throw CapsuleReplay.Refusal(.unreadable, "its values are longer than those of any capsule")
        }
        // Few short texts exist, so they may run out.
        var made = ""
        for attempt in 0..<256 {
            made = Self.make(pseudonym, attempt)
            if taken.insert(made).inserted { break }
        }
        values[name] = made
        return made
    }

    private static func make(_ pseudonym: Pseudonym, _ attempt: Int) -> String {
        let count = pseudonym.length
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        let digest = pseudonym.digest.utf8.map { Int($0.hexadecimalValue ?? 0) }
        var carry = attempt
        for index in 0..<count {
            let digit = digest[index % digest.count] + carry
            bytes.append(letters[digit & 15])
            carry = index < 8 ? digit >> 4 : 0
        }
        guard count > 0 else { return "" }
        switch pseudonym.kind {
        case .visible: bytes[count - 1] = UInt8(ascii: ".")
        case .ascii: bytes[count / 2] = UInt8(ascii: " ")
        case .control: bytes[count / 2] = UInt8(ascii: "\n")
        case .text where count >= 2: bytes.replaceSubrange(0..<2, with: "é".utf8)
        case .word, .text, .name, .integer, .negative, .fraction: break
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A number of the kind; nil for a pseudonym of a text.
    private static func number(_ pseudonym: Pseudonym) -> JSONValue? {
        switch pseudonym.kind {
        case .integer:
            var number: Int64 = 1
            for _ in 1..<max(1, min(pseudonym.length, 19)) { number *= 10 }
            return .integer(number)
        case .negative: return -1
        case .fraction: return .number(0.5)
        case .word, .visible, .ascii, .text, .control, .name: return nil
        }
    }

    /// The number of elements of an array that is not shown in full: `… 70 in all`.
    private static func count(_ omission: JSONValue) -> Int? {
        guard let words = omission.string?.split(ascii: " "), words.count == 4, words[0] == "…",
            let count = Int(words[1]), (0...maximumElements).contains(count)
        else { return nil }
        return count
    }

    private static func isOmission(_ element: JSONValue) -> Bool {
        element.string.map { $0 == "…" || $0.hasPrefix("… ") } ?? false
    }

    /// The pseudonym that is the whole text.
    private static func whole(_ text: String) -> Pseudonym? { pseudonym(text[...]) }

    private static func pseudonym(_ text: Substring) -> Pseudonym? {
        guard text.hasPrefix("‹"), text.hasSuffix("›") else { return nil }
        let words = text.dropFirst().dropLast().split(ascii: " ")
        guard words.count == 3, let kind = Pseudonyms.Kind(rawValue: String(words[0])),
            let length = Int(words[1]), (0...maximumBytes).contains(length),
            (1...64).contains(words[2].utf8.count), words[2].utf8.allSatisfy({ $0.hexadecimalValue != nil })
        else { return nil }
        return Pseudonym(kind: kind, length: length, digest: words[2])
    }
}
