/// Writes one JSON object (RFC 8259), member by member, straight into bytes.
///
/// ```swift
/// var json = JSONObjectWriter()
/// json.add("token_type", "bearer")
/// json.add("expires", 3600)
/// let bytes = json.finish()  // {"token_type":"bearer","expires":3600}
/// ```
public struct JSONObjectWriter: Sendable {
    private var bytes: [UInt8]
    private var isEmpty = true

    /// An object without members.
    /// - Parameter capacity: The expected length of the text, in bytes.
    public init(capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(capacity)
        bytes.append(UInt8(ascii: "{"))
    }

    /// The object's text in UTF-8. Ends the use of the writer.
    public consuming func finish() -> [UInt8] {
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    /// The text of an object that `members` writes.
    package static func text(_ members: (inout JSONObjectWriter) -> Void) -> String {
        var json = JSONObjectWriter()
        members(&json)
        return String(decoding: json.finish(), as: UTF8.self)
    }

    public mutating func add(_ name: StaticString, _ text: String) {
        begin(name)
        JSONText.append(text, to: &bytes)
    }

    public mutating func add(_ name: StaticString, _ number: Int64) {
        begin(name)
        JSONText.append(number, to: &bytes)
    }

    public mutating func add(_ name: StaticString, _ number: Int) { add(name, Int64(number)) }

    public mutating func add(_ name: StaticString, _ flag: Bool) { add(name, literal: flag ? "true" : "false") }

    public mutating func add(_ name: StaticString, _ texts: [String]) {
        addArray(name, texts) { JSONText.append($0, to: &$1.bytes) }
    }

    /// Adds a text under a variable name. The caller must not add a name twice.
    public mutating func add(named name: String, _ text: String) {
        begin(named: name)
        JSONText.append(text, to: &bytes)
    }

    /// Adds a value that is JSON already under a variable name. The caller must not add a name twice.
    public mutating func add(named name: String, json: String) {
        begin(named: name)
        bytes.append(contentsOf: json.utf8)
    }

    /// Adds an object that `members` writes, under a variable name. The caller must not add a name twice.
    public mutating func add(named name: String, object members: (inout JSONObjectWriter) -> Void) {
        begin(named: name)
        appendObject(members)
    }

    private mutating func appendObject(_ members: (inout JSONObjectWriter) -> Void) {
        bytes.append(UInt8(ascii: "{"))
        isEmpty = true
        members(&self)
        isEmpty = false
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func begin(named name: String) {
        if !isEmpty { bytes.append(UInt8(ascii: ",")) }
        isEmpty = false
        JSONText.append(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Adds the text, or null.
    public mutating func add(_ name: StaticString, orNull text: String?) {
        if let text { add(name, text) } else { add(name, literal: "null") }
    }

    /// Adds the text if there is one.
    public mutating func add(_ name: StaticString, ifPresent text: String?) {
        if let text { add(name, text) }
    }

    /// Adds a value that is JSON already, unchanged.
    public mutating func add(_ name: StaticString, json: String) {
        begin(name)
        bytes.append(contentsOf: json.utf8)
    }

    /// Adds members that are JSON already, without braces: `"a":null,"b":false`.
    public mutating func add(members: StaticString) {
        if !isEmpty { bytes.append(UInt8(ascii: ",")) }
        isEmpty = false
        members.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    /// Adds an object that `members` writes.
    public mutating func add(_ name: StaticString, object members: (inout JSONObjectWriter) -> Void) {
        begin(name)
        appendObject(members)
    }

    /// Adds an array with an object for each element, which `members` writes.
    public mutating func add<Element>(
        _ name: StaticString, objects elements: [Element], _ members: (Element, inout JSONObjectWriter) -> Void
    ) {
        addArray(name, elements) { element, json in json.appendObject { members(element, &$0) } }
    }

    private mutating func addArray<Element>(
        _ name: StaticString, _ elements: [Element], _ append: (Element, inout Self) -> Void
    ) {
        begin(name)
        bytes.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            append(element, &self)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    private mutating func begin(_ name: StaticString) { add(name, literal: "") }

    /// Adds a member whose value is `literal`, or begins with it.
    private mutating func add(_ name: StaticString, literal: StaticString) {
        let length = name.utf8CodeUnitCount + literal.utf8CodeUnitCount + 4
        bytes.append(addingCapacity: length) { (output: inout OutputSpan<UInt8>) in
            if !isEmpty { output.append(UInt8(ascii: ",")) }
            output.append(UInt8(ascii: "\""))
            output.append(name)
            output.append("\":")
            output.append(literal)
        }
        isEmpty = false
    }
}
