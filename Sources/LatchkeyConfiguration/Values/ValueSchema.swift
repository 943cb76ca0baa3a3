internal import Primitives

/// The values of a key as a JSON Schema (draft-07), for editors.
///
/// It allows what the loader reads, in each spelling: YAML reads `8080` as a number, and the loader as a text. It does
/// not know what the loader checks beyond the form, such as whether a text is a URL.
package struct ValueSchema: Sendable {
    private var members: [(name: String, value: JSONValue?)]

    private init(_ members: [(name: String, value: JSONValue?)]) { self.members = members }

    var json: JSONValue { .object(of: members) }

    /// A group, or in its place one of the words of a switch.
    func or(switch flag: JSONValue) -> ValueSchema {
        let words = flag.object?["enum"]?.array?.compactMap(\.string) ?? []
        let others = members.filter { $0.name != "type" }
        return ValueSchema(
            [
                ("type", ["object", "null", "string", "boolean"]),
                ("pattern", .string("^(\(words.joined(separator: "|")))$")),
            ] + others)
    }

    func with(_ more: [(name: String, value: JSONValue?)]) -> ValueSchema { ValueSchema(members + more) }

    /// A text. YAML reads one of digits as a number.
    package static let text = ValueSchema([("type", ["string", "integer"])])

    /// Any of the spellings of a switch.
    static let flag = words(["true", "false", "on", "off", "yes", "no"])

    static func integer(_ range: ClosedRange<Int>) -> ValueSchema {
        number(range, pattern: "^[0-9]+$")
    }

    /// A number, or a text that matches a pattern.
    static func number(_ range: ClosedRange<Int>? = nil, pattern: String) -> ValueSchema {
        ValueSchema([
            ("type", ["integer", "string"]), ("minimum", range.map { .integer(Int64($0.lowerBound)) }),
            ("maximum", range.map { .integer(Int64($0.upperBound)) }), ("pattern", .string(pattern)),
        ])
    }

    /// A part of all, from 0 to 1.
    static let ratio = ValueSchema([
        ("type", ["number", "string"]), ("minimum", 0), ("maximum", 1),
        ("pattern", "^(0([.][0-9]{1,6})?|1([.]0{1,6})?)$"),
    ])

    /// One of some words. `on`, `off` and the like are also truth values in YAML.
    static func words(_ words: [String]) -> ValueSchema {
        let values: [JSONValue] = [true, false].filter { flag in
            words.contains { (flag == true ? ["true", "on", "yes"] : ["false", "off", "no"]).contains($0) }
        }
        return ValueSchema([("enum", .array(words.map { .string($0) } + values))])
    }

    /// A list of values, or a text that is one.
    static func list(of item: ValueSchema) -> ValueSchema {
        ValueSchema([("type", ["array", "string", "integer"]), ("items", item.json)])
    }

    /// A group whose names the administrator chooses.
    /// - Parameter isText: Whether a text can be one, too.
    static func group(of value: ValueSchema, isText: Bool = false) -> ValueSchema {
        let types: JSONValue = isText ? ["object", "string"] : "object"
        return ValueSchema([("type", types), ("additionalProperties", value.json)])
    }

    /// A group with certain names, which may be empty.
    /// - Parameter isText: Whether a text can be one, too.
    static func group(_ names: [(name: String, value: JSONValue)], isText: Bool = false) -> ValueSchema {
        let types: JSONValue = isText ? ["object", "string"] : ["object", "null"]
        return ValueSchema([
            ("type", types), ("additionalProperties", false),
            ("properties", .object(of: names.map { ($0.name, $0.value) })),
        ])
    }

    static func definition(_ name: String) -> ValueSchema { ValueSchema([("$ref", .string("#/definitions/" + name))]) }
}
