/// Reads JSON from a buffer, left to right, each byte once.
///
/// `position` never passes the buffer's end: every read is behind a comparison with `count`.
struct JSONParser {
    let bytes: UnsafeBufferPointer<UInt8>
    let limits: JSONLimits
    var position = 0
    private var valuesLeft: Int
    private var depth = 0

    init(bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
        valuesLeft = limits.values
    }

    var count: Int { bytes.count }

    func error(_ code: JSONSyntaxError.Code) -> JSONSyntaxError { JSONSyntaxError(code: code, offset: position) }

    mutating func parseText() throws(JSONSyntaxError) -> JSONValue {
        let value = try parseValue()
        skipWhiteSpace()
        guard position == count else { throw error(.trailingBytes) }
        return value
    }

    private mutating func parseValue() throws(JSONSyntaxError) -> JSONValue {
        guard valuesLeft > 0 else { throw error(.tooManyValues) }
        valuesLeft -= 1
        skipWhiteSpace()
        guard position < count else { throw error(.unexpectedEnd) }
        switch bytes[position] {
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "{"): return .object(try parseObject())
        case UInt8(ascii: "["): return .array(try parseArray())
        case UInt8(ascii: "t"): return try parseWord("true", as: .bool(true))
        case UInt8(ascii: "f"): return try parseWord("false", as: .bool(false))
        case UInt8(ascii: "n"): return try parseWord("null", as: .null)
        default: return try parseNumber()
        }
    }

    private mutating func parseObject() throws(JSONSyntaxError) -> JSONObject {
        try enter()
        var members: [JSONObject.Member] = []
        var names = JSONMemberNames()
        guard !takes(UInt8(ascii: "}")) else { return leave(JSONObject(members)) }
        members.reserveCapacity(8)
        while true {
            skipWhiteSpace()
            guard position < count else { throw error(.unexpectedEnd) }
            guard bytes[position] == UInt8(ascii: "\"") else { throw error(.unexpectedByte) }
            let start = position
            let name = try parseString()
            let mark = JSONObject.Mark(name)
            guard names.insert(name, mark, after: members) else {
                throw JSONSyntaxError(code: .duplicateMember, offset: start)
            }
            try expect(UInt8(ascii: ":"))
            members.append(.init(name: name, value: try parseValue(), mark))
            if takes(UInt8(ascii: "}")) { return leave(JSONObject(members)) }
            try expect(UInt8(ascii: ","))
        }
    }

    private mutating func parseArray() throws(JSONSyntaxError) -> [JSONValue] {
        try enter()
        var elements: [JSONValue] = []
        guard !takes(UInt8(ascii: "]")) else { return leave(elements) }
        while true {
            elements.append(try parseValue())
            if takes(UInt8(ascii: "]")) { return leave(elements) }
            try expect(UInt8(ascii: ","))
        }
    }

    private mutating func enter() throws(JSONSyntaxError) {
        guard depth < limits.depth else { throw error(.tooDeep) }
        depth += 1
        position += 1
    }

    private mutating func leave<Value>(_ value: Value) -> Value {
        depth -= 1
        return value
    }

    private mutating func parseWord(_ word: StaticString, as value: JSONValue) throws(JSONSyntaxError) -> JSONValue {
        for index in 0..<word.utf8CodeUnitCount {
            guard position < count else { throw error(.unexpectedEnd) }
            guard bytes[position] == word.utf8Start[index] else { throw error(.unexpectedByte) }
            position += 1
        }
        return value
    }

    private mutating func skipWhiteSpace() {
        while position < count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    /// Skips white space, and the byte if it follows.
    private mutating func takes(_ byte: UInt8) -> Bool {
        skipWhiteSpace()
        guard position < count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ byte: UInt8) throws(JSONSyntaxError) {
        guard !takes(byte) else { return }
        throw error(position < count ? .unexpectedByte : .unexpectedEnd)
    }
}

/// The names of an object so far. Few names are compared one by one. Many are hashed, with the process's random seed,
/// so that no text makes the search quadratic.
struct JSONMemberNames {
    private static let few = 16
    private var hashed: Set<BytesOfText> = []

    /// False if the object has the name already.
    mutating func insert(_ name: String, _ mark: JSONObject.Mark, after members: [JSONObject.Member]) -> Bool {
        if members.count < Self.few { return !members.contains { $0.isNamed(name, mark) } }
        if hashed.isEmpty { hashed.formUnion(members.lazy.map { BytesOfText($0.name) }) }
        return hashed.insert(BytesOfText(name)).inserted
    }
}
