package import Primitives

/// Reads typed values from a body and collects the problems, so that one response names them all.
///
/// Problems name fields, never their values.
package struct FieldReader {
    private let fields: BodyFields
    package private(set) var problems: [String] = []
    /// The aliases under which fields were sent, by the fields' first names.
    package private(set) var sentNames: [String: String] = [:]

    package init(_ fields: BodyFields) { self.fields = fields }

    /// Whether the body is a form, where `+` is a space.
    package var isForm: Bool { if case .form = fields { true } else { false } }

    package mutating func refuse(_ name: String, _ problem: String) { problems.append("\(name) \(problem)") }

    /// As ``refuse(_:_:)``, for a reader of a value.
    /// - Returns: Nil, in place of the value.
    package mutating func refused<Value>(_ name: String, _ problem: String) -> Value? {
        refuse(name, problem)
        return nil
    }

    package mutating func noteProblems(of other: FieldReader) { problems += other.problems }

    /// 400 with all problems.
    package func refusal(_ correlationID: CorrelationID? = nil) -> APIError {
        .malformed(problems.joined(separator: "; ") + ".", correlationID)
    }

    /// - Throws: ``refusal(_:)`` if there are problems.
    package func check(_ correlationID: CorrelationID? = nil) throws(APIError) {
        guard problems.isEmpty else { throw refusal(correlationID) }
    }

    /// The name under which a field that was read was sent, the one that the client knows; its first name if it was not
    /// sent.
    package func sentName(_ name: String) -> String { sentNames[name] ?? name }

    /// The value of a field under any of its names; nil also if two names have different values, which is a problem.
    private mutating func value(_ name: String, _ aliases: [String], required: Bool) -> JSONValue? {
        var found = fields[name]
        for alias in aliases {
            guard let other = fields[alias] else { continue }
            if found == nil { sentNames[name] = alias }
            if let first = found, !first.isSame(as: other) {
                return refused(sentName(name), "and \(alias) have different values: send one of them")
            }
            found = other
        }
        if found == nil, required { refuse(name, "is missing") }
        return found
    }

    package mutating func text(_ name: String, _ aliases: [String] = [], limit: Int, required: Bool = false) -> String?
    {
        guard let value = value(name, aliases, required: required) else { return nil }
        guard let text = value.string else { return refused(sentName(name), "must be a string") }
        guard text.utf8.count <= limit else {
            return refused(sentName(name), "is longer than \(limit) bytes")
        }
        // PostgreSQL cannot store one.
        guard !text.utf8.contains(0) else { return refused(sentName(name), "has a NUL character") }
        return text
    }

    /// The result of `make`; `demand` is the problem if it is nil.
    package mutating func value<Value>(
        _ name: String, _ aliases: [String] = [], limit: Int, required: Bool = false, demand: String,
        _ make: (String) -> Value?
    ) -> Value? {
        guard let text = text(name, aliases, limit: limit, required: required) else { return nil }
        return make(text) ?? refused(sentName(name), demand)
    }

    /// A text of visible ASCII characters and, where `allowingSpaces`, spaces.
    package mutating func visibleText(
        _ name: String, _ aliases: [String] = [], limit: Int, required: Bool = false, allowingSpaces: Bool = false
    ) -> String? {
        let demand = "must have visible ASCII characters only" + (allowingSpaces ? " and spaces" : "")
        return value(name, aliases, limit: limit, required: required, demand: demand) { text in
            text.utf8.allSatisfy { $0.isVisibleASCII || allowingSpaces && $0 == 0x20 } ? text : nil
        }
    }

    /// Words separated by spaces, or in JSON also an array of them.
    package mutating func words(_ name: String, _ aliases: [String] = [], limit: Int, required: Bool = false)
        -> [String]
    {
        guard let value = value(name, aliases, required: required) else { return [] }
        let texts = value.array.map { $0.map(\.string) } ?? [value.string]
        let known = texts.compactMap(\.self)
        guard known.count == texts.count else {
            refuse(sentName(name), "must be a string")
            return []
        }
        let text = known.joined(separator: " ")
        guard text.utf8.count <= limit, text.utf8.allSatisfy(\.isPrintableASCII) else {
            refuse(sentName(name), "must be at most \(limit) ASCII characters")
            return []
        }
        let words = text.split(ascii: " ").map(String.init)
        if words.isEmpty, required { refuse(sentName(name), "is empty") }
        return words
    }

    /// A text of digits, which JSON may also give as a number if none of its digits can be lost by that.
    mutating func digits(_ name: String, _ lengths: ClosedRange<Int>, mayBeNumber: Bool = true) -> String? {
        guard let value = value(name, [], required: false) else { return nil }
        let text: String
        switch value {
        case .integer where !mayBeNumber:
            return refused(name, "must be a string: as a number it may have lost leading zeros")
        case .integer(let number): text = String(number)
        case .string(let string): text = string
        default: text = ""
        }
        guard lengths.contains(text.utf8.count), text.isDecimal else {
            let many = lengths.count == 1 ? "\(lengths.lowerBound)" : "\(lengths.lowerBound) or \(lengths.upperBound)"
            return refused(name, "must be \(many) digits")
        }
        return text
    }

    /// A whole number of seconds, which JSON may give as a number or as a text.
    package mutating func seconds(_ name: String, _ aliases: [String] = [], upTo limit: Int64) -> Int64? {
        guard let value = value(name, aliases, required: false) else { return nil }
        let isDigits = value.string?.isDecimal ?? true
        guard isDigits, let number = value.integer ?? value.string.flatMap({ Int64($0) }), (0...limit).contains(number)
        else { return refused(sentName(name), "must be a whole number of seconds from 0 to \(limit)") }
        return number
    }

    /// The value of a field, also null or empty.
    func raw(_ name: String) -> JSONValue? { fields.raw(name) }

    package func has(_ name: String) -> Bool { fields[name] != nil }
}

extension JSONValue {
    /// Whether two fields have the same value; texts are compared by bytes.
    fileprivate func isSame(as other: JSONValue) -> Bool {
        if let text = string, let other = other.string { return text.hasSameBytes(as: other) }
        return self == other
    }
}
