internal import Primitives

/// Reads a YAML or JSON text (JSON is YAML in its flow style) into ``ConfigurationNode``s.
///
/// Stricter than YAML: anchors, aliases, merge keys and tags are refused; plain scalars stay texts (`on` is not a
/// Boolean, `0310410` not an octal number); names are unique texts; size, depth and number of values are bounded.
struct YAMLDocument: ~Copyable {
    static let maximumBytes = 1 << 20
    static let maximumDepth = 16
    static let maximumNodes = 100_000

    /// Why a text is refused. Does not repeat the text.
    struct YAMLError: Error {
        var line: Int?
        var reason: String
        var remedy: String

        init(_ line: Int?, _ reason: String, _ remedy: String) {
            self.line = line
            self.reason = reason
            self.remedy = remedy
        }
    }

    private var events: YAMLEvents
    /// The place of a value, by the number of its line.
    private let place: @Sendable (Int?) -> ConfigurationOrigin
    private let settings: Settings
    private var nodes = 0

    /// The entries of the mapping at the top of a text; none if the text has only comments.
    ///
    /// - Parameter path: The file's path, for the values' origins.
    static func read(_ bytes: [UInt8], path: String, _ settings: Settings = .core) throws(YAMLError)
        -> [ConfigurationEntry]
    {
        let text = try mappingErrors(try FileReader.text(of: bytes)) { (error: InvalidValueError) in
            YAMLError(nil, error.reason, error.remedy ?? "")
        }
        return try mapping(value(of: text, settings) { .file(path: path, line: $0) })
    }

    /// The value that a text is in YAML or JSON; ``ConfigurationNode/Value/empty`` if the text has only comments.
    ///
    /// - Parameter place: The place of a value, by the number of its line.
    static func value(
        of text: String, _ settings: Settings = .core, place: @escaping @Sendable (Int?) -> ConfigurationOrigin
    ) throws(YAMLError) -> ConfigurationNode {
        var document = YAMLDocument(events: YAMLEvents(text), place: place, settings: settings)
        return try document.root()
    }

    private static func mapping(_ node: ConfigurationNode) throws(YAMLError) -> [ConfigurationEntry] {
        switch node.value {
        case .mapping(let entries): return entries
        case .empty: return []
        case .text, .list:
            throw YAMLError(1, "has no keys at its top", "write it as `key: value` lines or a JSON object")
        }
    }

    private mutating func root() throws(YAMLError) -> ConfigurationNode {
        let first = try events.next()
        if case .end = first.kind { return ConfigurationNode(value: .empty, origin: place(nil)) }
        let root = try node(first, depth: 0)
        let next = try events.next()
        guard case .end = next.kind else {
            throw YAMLError(
                next.line,
                "is not YAML or JSON (expected a single document in the stream, but found another document)",
                "keep one of them")
        }
        return root
    }

    /// The value that begins with an event.
    private mutating func node(_ first: YAMLEvents.Event, depth: Int) throws(YAMLError) -> ConfigurationNode {
        nodes += 1
        guard nodes <= Self.maximumNodes, depth <= Self.maximumDepth else {
            throw YAMLError(first.line, "is nested too deeply or has too many values", "make it simpler")
        }
        let origin = place(first.line)
        switch first.kind {
        case .scalar(let text, let isPlain):
            let isEmpty = isPlain && ["", "~", "null", "Null", "NULL"].contains(text)
            return ConfigurationNode(value: isEmpty ? .empty : .text(text), origin: origin)
        case .sequence: return ConfigurationNode(value: .list(try items(depth: depth + 1)), origin: origin)
        case .mapping: return ConfigurationNode(value: .mapping(try entries(depth: depth + 1)), origin: origin)
        case .end: throw YAMLError(first.line, "is not YAML or JSON", "compare it with Config/latchkey.example.yaml")
        }
    }

    private mutating func items(depth: Int) throws(YAMLError) -> [ConfigurationNode] {
        var items: [ConfigurationNode] = []
        while true {
            let first = try events.next()
            if case .end = first.kind { return items }
            items.append(try node(first, depth: depth))
        }
    }

    private mutating func entries(depth: Int) throws(YAMLError) -> [ConfigurationEntry] {
        var entries: [ConfigurationEntry] = []
        var names: Set<String> = []
        while true {
            let key = try events.next()
            if case .end = key.kind { return entries }
            guard case .scalar = key.kind, case .text(let name) = try node(key, depth: depth).value else {
                throw YAMLError(key.line, "has a key that is not a name", "give each value a name")
            }
            guard names.insert(name).inserted else { throw duplicate(name, key.line) }
            let value = try node(try events.next(), depth: depth)
            entries.append(ConfigurationEntry(name: name, origin: place(key.line), node: value))
        }
    }

    /// Repeats the key only if it is one of Latchkey's: anything else may be a misplaced secret.
    private func duplicate(_ name: String, _ line: Int) -> YAMLError {
        let known = ConfigurationReference.keys(of: settings).contains {
            $0.name.split(separator: ".").contains(name[...])
        }
        return YAMLError(
            line, "has the key\(known ? " \(name)" : "") more than once in one group", "keep one of them")
    }
}
