import Primitives

/// Made-up values in the place of a capsule's pseudonyms: of the same kind and length, equal ones for equal
/// pseudonyms, and different ones for different pseudonyms. So every comparison has the result that it had. A time far
/// away stays on its side of the sign-in.
struct MadeUpValues {
    /// The longest value, in bytes. No response that a capsule shows has a longer one.
    private static let maximumBytes = 64 * 1024
    /// The most bytes of all values together, each as often as it is used, and of the bodies that are made beside them.
    private static let maximumBytesInAll = 4 << 20
    /// The most values of all kinds together. No JSON text that is read has more.
    private static let maximumValuesInAll = 16_384
    /// The most elements of an array. No array that is read has more.
    private static let maximumElements = 1000
    /// Letters that no word of a specification is made of alone.
    private static let letters = Array("GHKLMNPQRSVWXYZB".utf8)

    private var values: [String: String] = [:]
    private var taken = CapsuleVocabulary.values
    private var bytesLeft = MadeUpValues.maximumBytesInAll
    private var valuesLeft = MadeUpValues.maximumValuesInAll

    /// A pseudonym that is read.
    private struct Pseudonym {
        let kind: Pseudonyms.Kind
        let length: Int
        let digest: Substring
    }

    /// A value of a capsule with every pseudonym replaced.
    /// - Throws: ``CapsuleReplay/Refusal`` if the values are too long or too many.
    mutating func value(_ shown: JSONValue) throws(CapsuleReplay.Refusal) -> JSONValue {
        try charge(values: 1, bytes: 0)
        switch shown {
        case .null, .bool, .integer, .number: return shown
        case .string(let text):
            if let pseudonym = Self.whole(text), let number = Self.number(pseudonym) { return number }
            return .string(try self.text(text))
        case .array(let elements):
            var made: [JSONValue] = []
            // What the last element costs.
            var (values, bytes) = (0, 0)
            let hasObjects = elements.contains { $0.object != nil }
            for element in elements {
                // A check of a value that the capsule had no room for must not pass because the value is missing.
                if element == "…", !hasObjects { made.append(.string(Self.leftOut)) }
                if Self.isOmission(element) { continue }
                (values, bytes) = (valuesLeft, bytesLeft)
                made.append(try value(element))
                (values, bytes) = (values - valuesLeft, bytes - bytesLeft)
            }
            // The number of elements can matter; what the others are does not.
            if let count = elements.last.flatMap(Self.count), let last = made.last, made.count < count {
                let added = count - made.count
                try charge(values: values * added, bytes: bytes * added)
                made += [JSONValue](repeating: last, count: added)
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

    /// - Throws: ``CapsuleReplay/Refusal`` if the capsule had no room for a member that checks look at.
    static func checkIsWhole(_ object: JSONObject, of document: String) throws(CapsuleReplay.Refusal) {
        guard object.members.contains(where: { CapsuleVocabulary.names.contains($0.name) && $0.value == "…" }) else {
            return
        }
        throw CapsuleReplay.Refusal(.notReplayable, "the capsule had no room for all members of \(document)")
    }

    /// A text with every pseudonym in it replaced.
    mutating func text(_ shown: String) throws(CapsuleReplay.Refusal) -> String {
        guard shown.utf8.count >= 3, shown.contains("‹") else {
            try charge(values: 0, bytes: shown.utf8.count)
            return shown
        }
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
        guard pseudonym.length <= Self.maximumBytes else {
            throw CapsuleReplay.Refusal(.unreadable, "a value is longer than any of a capsule")
        }
        if let known = values[name] {
            try charge(values: 0, bytes: pseudonym.length)
            return known
        }
        // Few short texts exist, so they may run out.
        for attempt in 0..<256 {
            try charge(values: 0, bytes: pseudonym.length)
            let made = Self.make(pseudonym, attempt)
            guard taken.insert(made).inserted else { continue }
            values[name] = made
            return made
        }
        throw CapsuleReplay.Refusal(.unreadable, "it has more different short values than can be made up")
    }

    /// Counts what is about to be made, so that a small capsule does not become a large response.
    /// - Throws: ``CapsuleReplay/Refusal`` if it is more than any capsule stands for.
    mutating func charge(values: Int, bytes: Int) throws(CapsuleReplay.Refusal) {
        guard values <= valuesLeft, bytes <= bytesLeft else {
            throw CapsuleReplay.Refusal(.unreadable, "its values are longer or more than those of any capsule")
        }
        valuesLeft -= values
        bytesLeft -= bytes
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
        case .uri where count >= 3: bytes[1] = UInt8(ascii: ":")
        case .ascii: bytes[count / 2] = UInt8(ascii: " ")
        case .control: bytes[count / 2] = UInt8(ascii: "\n")
        case .text where count >= 2: bytes.replaceSubrange(0..<2, with: "é".utf8)
        case .word, .uri, .text, .name, .integer, .negative, .fraction, .past, .future, .beyond: break
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
        case .past: return 1
        case .future: return .integer(1 << 52)
        case .beyond: return .integer(.max)
        case .word, .visible, .uri, .ascii, .text, .control, .name: return nil
        }
    }

    /// The number of elements of an array that is not shown in full: `… 70 in all`.
    private static func count(_ omission: JSONValue) -> Int? {
        guard let words = omission.string?.split(ascii: " "), words.count == 4, words[0] == "…",
            let count = Int(words[1]), (0...maximumElements).contains(count)
        else { return nil }
        return count
    }

    /// Stands for an element that is not in the capsule.
    private static let leftOut = "left-out-of-the-capsule"

    private static func isOmission(_ element: JSONValue) -> Bool {
        element.string.map { $0 == "…" || $0.hasPrefix("… ") } ?? false
    }

    /// The pseudonym that is the whole text.
    private static func whole(_ text: String) -> Pseudonym? { pseudonym(text[...]) }

    private static func pseudonym(_ text: Substring) -> Pseudonym? {
        guard text.hasPrefix("‹"), text.hasSuffix("›") else { return nil }
        let words = text.dropFirst().dropLast().split(ascii: " ")
        guard words.count == 3, let kind = Pseudonyms.Kind(rawValue: String(words[0])),
            let length = Int(words[1]), length >= 0,
            (1...64).contains(words[2].utf8.count), words[2].utf8.allSatisfy({ $0.hexadecimalValue != nil })
        else { return nil }
        return Pseudonym(kind: kind, length: length, digest: words[2])
    }
}
