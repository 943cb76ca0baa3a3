internal import Yams

/// Reads a YAML or JSON text (JSON is YAML in its flow style) into ``ConfigurationNode``s.
///
/// Stricter than YAML: anchors, aliases, merge keys and tags are refused; plain scalars stay texts (`on` is not a
/// Boolean, `0310410` not an octal number); names are unique texts; size, depth and number of values are bounded. Yams
/// is used directly because swift-configuration has no lists of groups and does not report unknown keys.
struct YAMLDocument {
    static let maximumBytes = 1 << 20
    static let maximumDepth = 16
    static let maximumNodes = 100_000

    /// Why a text is refused. Does not repeat the text.
    struct Refusal: Error {
        var line: Int?
        var reason: String
        var remedy: String

        init(_ line: Int?, _ reason: String, _ remedy: String) {
            self.line = line
            self.reason = reason
            self.remedy = remedy
        }
    }

    /// The place of a value, by the number of its line.
    private let place: @Sendable (Int?) -> ConfigurationOrigin
    private var nodes = 0

    /// The entries of the mapping at the top of a text; none if the text has only comments.
    ///
    /// - Parameter path: The file's path, for the values' origins.
    static func read(_ bytes: [UInt8], path: String) throws(Refusal) -> [ConfigurationEntry] {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Refusal(nil, "is not UTF-8", "save it in UTF-8")
        }
        return try mapping(value(of: text) { .file(path: path, line: $0) })
    }

    /// The value that a text is in YAML or JSON; ``ConfigurationNode/Value/empty`` if the text has only comments.
    ///
    /// - Parameter place: The place of a value, by the number of its line.
    static func value(
        of text: String, place: @escaping @Sendable (Int?) -> ConfigurationOrigin
    ) throws(Refusal) -> ConfigurationNode {
        try refuseManyAliases(text)
        var document = YAMLDocument(place: place)
        do {
            let parser = try Parser(yaml: text, resolver: .basic, encoding: .utf8)
            guard let root = try parser.singleRoot() else {
                return ConfigurationNode(value: .empty, origin: place(nil))
            }
            // A node holds its anchor weakly; the parser owns it.
            return try withExtendedLifetime(parser) { () throws(Refusal) in try document.convert(root, depth: 0) }
        } catch let refusal as Refusal {
            throw refusal
        } catch let error as YamlError {
            throw refusal(for: error)
        } catch {
            throw Refusal(nil, "is not YAML", "compare it with Config/latchkey.example.yaml")
        }
    }

    private init(place: @escaping @Sendable (Int?) -> ConfigurationOrigin) { self.place = place }

    private static func mapping(_ node: ConfigurationNode) throws(Refusal) -> [ConfigurationEntry] {
        switch node.value {
        case .mapping(let entries): return entries
        case .empty: return []
        case .text, .list: throw Refusal(1, "has no keys at its top", "write it as `key: value` lines or a JSON object")
        }
    }

    private mutating func convert(_ node: Node, depth: Int) throws(Refusal) -> ConfigurationNode {
        let line = node.mark?.line
        nodes += 1
        guard nodes <= Self.maximumNodes, depth <= Self.maximumDepth else {
            throw Refusal(line, "is nested too deeply or has too many values", "make it simpler")
        }
        guard node.anchor == nil else {
            throw Refusal(line, "has an anchor or alias (&, *), which are not supported", "write the value out")
        }
        let origin = place(line)
        switch node {
        case .scalar(let scalar):
            try refuseTag(scalar.tag, line)
            let isEmpty = scalar.style == .plain && ["", "~", "null", "Null", "NULL"].contains(scalar.string)
            return ConfigurationNode(value: isEmpty ? .empty : .text(scalar.string), origin: origin)
        case .sequence(let sequence):
            try refuseTag(sequence.tag, line)
            var items: [ConfigurationNode] = []
            for item in sequence { items.append(try convert(item, depth: depth + 1)) }
            return ConfigurationNode(value: .list(items), origin: origin)
        case .mapping(let mapping):
            try refuseTag(mapping.tag, line)
            var entries: [ConfigurationEntry] = []
            for (key, value) in mapping { entries.append(try entry(key, value, depth: depth + 1)) }
            return ConfigurationNode(value: .mapping(entries), origin: origin)
        case .alias: throw Refusal(line, "has an alias (*), which is not supported", "write the value out")
        }
    }

    private mutating func entry(_ key: Node, _ value: Node, depth: Int) throws(Refusal) -> ConfigurationEntry {
        guard case .text(let name) = try convert(key, depth: depth).value else {
            throw Refusal(key.mark?.line, "has a key that is not a name", "give each value a name")
        }
        let origin = place(key.mark?.line)
        return ConfigurationEntry(name: name, origin: origin, node: try convert(value, depth: depth))
    }

    private func refuseTag(_ tag: Tag, _ line: Int?) throws(Refusal) {
        let usual: [Tag.Name] = [.implicit, .nonSpecific, .str, .seq, .map]
        guard usual.contains(where: { $0.rawValue == tag.rawValue }) else {
            throw Refusal(line, "has a tag (!!…), which is not supported", "remove the tag")
        }
    }
}

extension YAMLDocument {
    /// The most `*` at places where YAML allows an alias. Yams compares keys by their whole content, so each alias of
    /// an alias in a key doubles the time; this bounds it.
    private static let maximumAliases = 20

    private static func refuseManyAliases(_ text: String) throws(Refusal) {
        var found = 0
        var line = 1
        var before = UInt8(ascii: "\n")
        var isLineStart = true
        var isComment = false
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\n") { line += 1 }
            if isLineBreak(byte) {
                (isLineStart, isComment) = (true, false)
            } else if byte != UInt8(ascii: " ") && byte != UInt8(ascii: "\t") {
                if isLineStart { isComment = byte == UInt8(ascii: "#") }
                isLineStart = false
            }
            if byte == UInt8(ascii: "*"), !isComment, canStandBeforeAlias(before) {
                found += 1
                guard found <= maximumAliases else {
                    throw Refusal(
                        line, "has more than \(maximumAliases) values that start with * and are not in quotes",
                        "put such values in quotes")
                }
            }
            before = byte
        }
    }

    /// libyaml's line breaks: line feed, carriage return, and the last byte of U+0085, U+2028 and U+2029.
    private static func isLineBreak(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x0A, 0x0D, 0x85, 0xA8, 0xA9: true
        default: false
        }
    }

    /// Whether a value can start after a byte: white space, the end of a byte order mark, or an indicator.
    private static func canStandBeforeAlias(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20, 0xBF, UInt8(ascii: "["), UInt8(ascii: "{"), UInt8(ascii: ","), UInt8(ascii: ":"),
            UInt8(ascii: "?"), UInt8(ascii: "-"):
            true
        default: isLineBreak(byte)
        }
    }

    private static func refusal(for error: YamlError) -> Refusal {
        switch error {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            // libyaml and Yams have a fixed set of these texts, which quote nothing.
            if problem.contains("undefined alias") || context?.text.contains("an alias") == true {
                return Refusal(mark.line, "has a value that starts with * and is not in quotes", "put it in quotes")
            }
            let reason = [context?.text, problem].compactMap(\.self).joined(separator: ", ")
            return Refusal(mark.line, "is not YAML or JSON (\(reason))", "correct this line or one above it")
        case .duplicatedKeysInMapping(let duplicates, let context):
            let known = Set(ConfigurationReference.keys.flatMap { $0.name.split(separator: ".").map(String.init) })
            let name = duplicates.first(where: known.contains).map { " \($0)" } ?? ""
            return Refusal(context.mark.line, "has the key\(name) more than once in one group", "keep one of them")
        case .reader: return Refusal(nil, "has a character that YAML does not allow", "remove control characters")
        default: return Refusal(nil, "is not YAML or JSON", "compare it with Config/latchkey.example.yaml")
        }
    }
}
