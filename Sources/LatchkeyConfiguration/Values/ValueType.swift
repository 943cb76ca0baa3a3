package import Primitives

/// Why a text is not a value of its type. Does not repeat a secret.
public struct InvalidValueError: Error, CustomStringConvertible {
    let reason: String
    /// Nil for the default: to give the type's description.
    let remedy: String?

    package init(_ reason: String, _ remedy: String? = nil) {
        self.reason = reason
        self.remedy = remedy
    }

    public var description: String { reason + (remedy.map { "; \($0)" } ?? "") }
}

func require(
    _ isMet: Bool, else reason: @autoclosure () -> String, _ remedy: String? = nil
) throws(InvalidValueError) {
    guard isMet else { throw InvalidValueError(reason(), remedy) }
}

/// How the values of a type are read and shown.
public struct ValueType<Value: Sendable>: Sendable {
    /// With its article: `a whole number from 0 to 65535`.
    let description: String
    /// For editors.
    var schema = ValueSchema.text
    /// The value as it would be written in the file, on one line.
    let show: @Sendable (Value) -> String
    /// The value, or nil after reporting why there is none.
    package let read: @Sendable (ConfigurationNode, inout ReadingContext) -> Value?
    /// The keys of its groups, for the setting of a name, if the values are groups with keys of their own.
    var group: (@Sendable (String) -> SettingGroup)?

    /// A type of single values.
    package static func scalar(
        _ description: String, schema: ValueSchema = .text, show: @escaping @Sendable (Value) -> String,
        parse: @escaping @Sendable (String, EndpointURL.Policy) throws(InvalidValueError) -> Value
    ) -> ValueType {
        ValueType(description: description, schema: schema, show: show) { node, context in
            guard case .text(let text) = node.value else {
                context.refuse(node.origin, "is \(node.kind)", "give \(description)")
                return nil
            }
            if let fault = node.unseenFault {
                context.refuse(node.origin, fault, "remove it")
                return nil
            }
            do throws(InvalidValueError) {
                return try parse(text, context.policy)
            } catch {
                context.refuse(node.origin, error.reason, error.remedy ?? "give \(description)")
                return nil
            }
        }
    }

    /// The same texts for values of another type.
    func mapped<Other>(
        _ forth: @escaping @Sendable (Value) -> Other, back: @escaping @Sendable (Other) -> Value
    ) -> ValueType<Other> {
        ValueType<Other>(description: description, schema: schema, show: { show(back($0)) }) { node, context in
            read(node, &context).map(forth)
        }
    }

    /// A type for a property that may be nil.
    public static func optional<Wrapped>(_ type: ValueType<Wrapped>) -> ValueType<Wrapped?> where Value == Wrapped? {
        ValueType<Wrapped?>(
            description: type.description, schema: type.schema, show: { $0.map(type.show) ?? "" }
        ) { node, context in
            // The outer nil of `Wrapped??` means that the value was refused.
            guard let value = type.read(node, &context) else { return nil }
            return .some(value)
        }
    }

    /// A list of such values; in a text, with commas between them.
    public static func list<Element>(of element: ValueType<Element>, _ description: String) -> ValueType<[Element]>
    where Value == [Element] {
        ValueType<[Element]>(
            description: description, schema: .list(of: element.schema),
            show: { $0.map(element.show).joined(separator: ",") }
        ) { node, context in
            guard let items = ListText.items(of: node, description, &context) else { return nil }
            var values: [Element] = []
            for (index, item) in items.enumerated() {
                if let value = context.beneath("[\(index)]", { element.read(item, &$0) }) { values.append(value) }
            }
            return values.count == items.count ? values : nil
        }.with(element.group)
    }

    func with(_ group: (@Sendable (String) -> SettingGroup)?) -> ValueType { altered(self) { $0.group = group } }
}

/// Lists as one text.
enum ListText {
    /// The items of a list, or of a text that separates them with commas (in a separate file also with line breaks)
    /// or is a list in YAML or JSON; nil after reporting that it is neither.
    static func items(
        of node: ConfigurationNode, _ description: String, _ context: inout ReadingContext
    ) -> [ConfigurationNode]? {
        guard let node = structured(node, &context) else { return nil }
        switch node.value {
        case .list(let items): return items
        case .text(let text):
            let parts = text.utf8.split(omittingEmptySubsequences: false) { isSeparator($0, in: node) }
            let items = parts.map { String(Substring($0.trimmed(of: " \t\r".utf8.contains))) }
            guard !items.contains("") else {
                context.refuse(node.origin, "has an empty item", "remove the extra comma or line")
                return nil
            }
            return items.map { item in altered(node) { $0.value = .text(item) } }
        case .empty, .mapping:
            context.refuse(node.origin, "is \(node.kind)", "give \(description)")
            return nil
        }
    }

    /// The list or group that a text is in YAML or JSON, as a variable or a separate file can hold it. Any other
    /// value is returned as it is. Nil after reporting that the text begins as one and is none.
    static func structured(_ node: ConfigurationNode, _ context: inout ReadingContext) -> ConfigurationNode? {
        guard case .text(let text) = node.value, beginsLikeYAML(text) else { return node }
        let origin = node.origin
        do throws(YAMLDocument.YAMLError) {
            return try YAMLDocument.value(of: text) { _ in origin }
        } catch {
            let line = error.line.map { "; see its line \($0)" } ?? ""
            context.refuse(origin, "begins like YAML or JSON and \(error.reason)\(line)", error.remedy)
            return nil
        }
    }

    /// Whether a text begins like a group or a list: with `{` or `- `, or with `[` before a quoted item, a group, a
    /// list or its end. `[::1]` is an address.
    private static func beginsLikeYAML(_ text: String) -> Bool {
        let isBlank: (UInt8) -> Bool = { [0x09, 0x0A, 0x0D, 0x20].contains($0) }
        let start = text.utf8.drop(while: isBlank)
        guard start.first == UInt8(ascii: "[") else { return ["{", "- "].contains { start.starts(with: $0.utf8) } }
        return start.dropFirst().drop(while: isBlank).first.map("\"'{[]".utf8.contains) ?? true
    }

    private static func isSeparator(_ byte: UInt8, in node: ConfigurationNode) -> Bool {
        byte == UInt8(ascii: ",") || (node.secretFile != nil && byte == UInt8(ascii: "\n"))
    }
}
