package import Primitives

/// A JSON Schema (draft 2020-12), as far as the API's bodies need one.
public struct APISchema: Sendable {
    /// A member of an object.
    public struct Field: Sendable {
        package let name: String
        package let schema: APISchema
        package let isRequired: Bool

        package var orNull: Field { Field(name: name, schema: schema.orNull, isRequired: isRequired) }
        package var ifPresent: Field { Field(name: name, schema: schema, isRequired: false) }
    }

    private let members: [(name: String, value: JSONValue?)]

    package var json: JSONValue { .object(of: members) }

    /// - Parameter lengths: In characters; only for texts of ASCII alone, whose limits are in bytes.
    public static func text(
        _ description: String, pattern: String? = nil, lengths: ClosedRange<Int>? = nil, choices: [String]? = nil,
        example: String? = nil
    ) -> APISchema {
        APISchema(members: [
            ("type", .string("string")), ("description", .string(description)),
            ("pattern", pattern.map { .string($0) }),
            ("minLength", lengths.map { .integer(Int64($0.lowerBound)) }),
            ("maxLength", lengths.map { .integer(Int64($0.upperBound)) }),
            ("enum", choices.map { .texts($0) }),
            ("examples", example.map { .texts([$0]) }),
        ])
    }

    /// A text of visible ASCII characters.
    package static func visible(_ description: String, upTo longest: Int, example: String? = nil) -> APISchema {
        text(description, pattern: "^[!-~]*$", lengths: 1...longest, example: example)
    }

    /// A whole number.
    public static func integer(_ description: String, from lowest: Int64? = nil, example: Int64? = nil) -> APISchema {
        APISchema(members: [
            ("type", .string("integer")), ("description", .string(description)),
            ("minimum", lowest.map { .integer($0) }), ("examples", example.map { .array([.integer($0)]) }),
        ])
    }

    /// A moment.
    public static func seconds(_ description: String, example: Int64 = 1_800_000_000) -> APISchema {
        integer(description + ", in seconds since 1970", from: 0, example: example)
    }

    package static func span(_ description: String, example: Int64) -> APISchema {
        integer(description + ", in seconds", from: 0, example: example)
    }

    package static let anything = APISchema(members: [("description", .string("Any JSON value"))])

    /// True or false.
    public static func flag(_ description: String) -> APISchema {
        APISchema(members: [("type", .string("boolean")), ("description", .string(description))])
    }

    package static func always(_ value: JSONValue, _ description: String) -> APISchema {
        APISchema(members: [("const", value), ("description", .string(description))])
    }

    /// An array.
    public static func list(_ description: String, of element: APISchema) -> APISchema {
        APISchema(members: [
            ("type", .string("array")), ("description", .string(description)), ("items", element.json),
        ])
    }

    /// Words separated by spaces, or in JSON also an array of them.
    package static func words(_ description: String, upTo longest: Int, example: String) -> APISchema {
        let word = text("One of them", pattern: "^[!-~]+$")
        return APISchema(members: [
            ("description", .string(description + " In JSON it may also be an array of the words.")),
            (
                "anyOf",
                .array([
                    wordsInQuery("Separated by spaces", upTo: longest).json, list("As an array", of: word).json,
                ])
            ),
            ("examples", .texts([example])),
        ])
    }

    static func wordsInQuery(_ description: String, upTo longest: Int, example: String? = nil) -> APISchema {
        text(description, pattern: "^[ -~]*$", lengths: 0...longest, example: example)
    }

    package static func fields(
        _ required: KeyValuePairs<String, APISchema> = [:], optional: KeyValuePairs<String, APISchema> = [:]
    ) -> [Field] {
        required.map { Field(name: $0.key, schema: $0.value, isRequired: true) }
            + optional.map { Field(name: $0.key, schema: $0.value, isRequired: false) }
    }

    /// An object with these fields and those of `more`.
    public static func object(
        _ description: String, _ required: KeyValuePairs<String, APISchema> = [:],
        optional: KeyValuePairs<String, APISchema> = [:], _ more: [Field]..., isOpen: Bool = false
    ) -> APISchema {
        object(description, fields(required, optional: optional) + more.joined(), isOpen: isOpen)
    }

    /// - Parameter alternatives: Groups of names, of which one must be present beside the required fields.
    package static func object(
        _ description: String, _ fields: [Field], oneGroupOf alternatives: [[String]] = [], isOpen: Bool = false
    ) -> APISchema {
        let required = fields.filter(\.isRequired).map(\.name)
        let groups = alternatives.map { JSONValue.object(of: [("required", .texts($0))]) }
        return APISchema(members: [
            ("type", .string("object")), ("description", .string(description)),
            ("properties", .object(of: fields.map { ($0.name, $0.schema.json) })),
            ("required", required.isEmpty ? nil : .texts(required)), ("anyOf", groups.isEmpty ? nil : .array(groups)),
            ("additionalProperties", isOpen ? .bool(true) : nil),
        ])
    }

    package static func anyOf(_ description: String, _ schemas: [APISchema]) -> APISchema {
        APISchema(members: [("description", .string(description)), ("anyOf", .array(schemas.map(\.json)))])
    }

    /// One of ``components``, or of the schemas of the feature.
    public static func named(_ name: String) -> APISchema {
        APISchema(members: [("$ref", .string("#/components/schemas/" + name))])
    }

    package var orNull: APISchema {
        APISchema(
            members: members.map { member in
                guard member.name == "type", let type = member.value?.string else { return member }
                return ("type", .texts([type, "null"]))
            })
    }
}
