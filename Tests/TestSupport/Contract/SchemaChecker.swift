public import Primitives

/// Checks JSON values against the JSON Schemas of a document, with the keywords that our OpenAPI documents use.
///
/// Stricter than JSON Schema: an object has only the members that its schema names, unless `additionalProperties` is
/// true or a schema.
public struct SchemaChecker: Sendable {
    let document: JSONValue

    public init(document: JSONValue) {
        self.document = document
    }

    /// The faults of a value; empty for a valid one.
    public func faults(of value: JSONValue, _ schema: JSONValue, at place: String = "the content") -> [String] {
        guard let schema = resolved(schema) else { return ["\(place): its schema cannot be found"] }
        var faults: [String] = []
        if let type = schema["type"], !isOfType(value, type) { faults.append("\(place) is not of type \(type.text)") }
        if let const = schema["const"], const != value { faults.append("\(place) is not \(const.text)") }
        if let choices = schema["enum"]?.array, !choices.contains(value) {
            faults.append("\(place) is none of \(JSONValue.array(choices).text)")
        }
        if let lowest = schema["minimum"]?.double, let number = value.double, number < lowest {
            faults.append("\(place) is less than \(lowest)")
        }
        if let highest = schema["maximum"]?.double, let number = value.double, number > highest {
            faults.append("\(place) is more than \(highest)")
        }
        if let text = value.string { faults += self.faults(ofText: text, schema, place) }
        if let elements = value.array, let items = schema["items"] {
            for (index, element) in elements.enumerated() {
                faults += self.faults(of: element, items, at: "\(place)[\(index)]")
            }
        }
        if let object = value.object { faults += self.faults(ofObject: object, schema, place) }
        return faults + faultsOfChoice(value, schema, place)
    }

    /// The target of a reference; the value itself if it is none.
    public func resolved(_ value: JSONValue) -> JSONObject? {
        guard let reference = value.object?["$ref"]?.string else { return value.object }
        guard reference.hasPrefix("#/") else { return nil }
        var found: JSONValue? = document
        for name in reference.dropFirst(2).split(separator: "/") { found = found?.object?[String(name)] }
        return found.flatMap { $0.object }
    }

    private func faults(ofText text: String, _ schema: JSONObject, _ place: String) -> [String] {
        var faults: [String] = []
        let count = Int64(text.unicodeScalars.count)
        if let shortest = schema["minLength"]?.integer, count < shortest { faults.append("\(place) is too short") }
        if let longest = schema["maxLength"]?.integer, count > longest { faults.append("\(place) is too long") }
        if let pattern = schema["pattern"]?.string {
            let expression = try? Regex(pattern)
            if expression.flatMap({ try? $0.firstMatch(in: text) }) == nil {
                faults.append("\(place) does not match \(pattern)")
            }
        }
        return faults
    }

    private func faults(ofObject object: JSONObject, _ schema: JSONObject, _ place: String) -> [String] {
        var faults: [String] = []
        for name in schema["required"]?.array?.compactMap(\.string) ?? [] where object[name] == nil {
            faults.append("\(place) has no \(name)")
        }
        let (properties, others) = (schema["properties"]?.object, schema["additionalProperties"])
        guard properties != nil || others?.object != nil else { return faults }
        for member in object.members {
            if let known = properties?[member.name] ?? others.flatMap({ $0.object == nil ? nil : $0 }) {
                faults += self.faults(of: member.value, known, at: "\(place).\(member.name)")
            } else if schema["additionalProperties"]?.bool != true {
                faults.append("\(place) has \(member.name), which its schema does not name")
            }
        }
        return faults
    }

    private func faultsOfChoice(_ value: JSONValue, _ schema: JSONObject, _ place: String) -> [String] {
        guard let choices = schema["anyOf"]?.array else { return [] }
        let faults = choices.map { self.faults(of: value, $0, at: place) }
        if faults.contains([]) { return [] }
        return [
            "\(place) fits none of its schemas: " + faults.map { $0.joined(separator: ", ") }.joined(separator: " | ")
        ]
    }

    private func isOfType(_ value: JSONValue, _ type: JSONValue) -> Bool {
        let types = type.array?.compactMap(\.string) ?? [type.string ?? ""]
        return types.contains { type in
            switch (type, value) {
            case ("null", .null), ("boolean", .bool), ("string", .string), ("array", .array), ("object", .object),
                ("number", .integer), ("number", .number), ("integer", .integer):
                true
            default: false
            }
        }
    }
}
