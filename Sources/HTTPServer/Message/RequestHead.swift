public import HTTPTypes
import Primitives

/// A request line and its fields: the received bytes, and the ranges of the fields in them.
public final class RequestHead: Sendable {
    struct Field: Sendable {
        let name: Range<UInt32>
        let value: Range<UInt32>
    }

    public let method: HTTPRequest.Method
    /// The percent-decoded path.
    public let path: String
    /// The text after the `?`, as received; nil if there is no `?`.
    public let rawQuery: String?
    /// ``rawQuery`` as parameters, empty if there is none; nil if it is malformed.
    let query: Query?
    /// The minor version: 1 for HTTP/1.1.
    let minorVersion: Int
    let fields: [Field]
    /// A bit for the length of each field's name, modulo 64: most look-ups of a missing field end here.
    private let nameLengths: UInt64
    private let bytes: [UInt8]

    init(
        method: HTTPRequest.Method, path: String, rawQuery: String?, minorVersion: Int, fields: [Field], bytes: [UInt8]
    ) {
        self.method = method
        self.path = path
        self.rawQuery = rawQuery
        query = rawQuery.map { Query($0) } ?? Query()
        self.minorVersion = minorVersion
        self.fields = fields
        nameLengths = fields.reduce(0) { $0 | RequestHead.lengthBit($1.name.count) }
        self.bytes = bytes
    }

    private static func lengthBit(_ length: Int) -> UInt64 { 1 << UInt64(length & 63) }

    /// Calls `body` with each field of a name, in their order, until it returns false. Names are compared without
    /// regard to case.
    func forEachField(named name: HTTPField.Name, _ body: (Field) -> Bool) {
        let lowercase = name.canonicalName
        let length = lowercase.utf8.count
        guard nameLengths & RequestHead.lengthBit(length) != 0 else { return }
        lowercase.withBytes { expected in
            for field in fields where field.name.count == length && isNamed(field, expected) {
                guard body(field) else { return }
            }
        }
    }

    private func isNamed(_ field: Field, _ lowercase: UnsafeBufferPointer<UInt8>) -> Bool {
        let start = Int(field.name.lowerBound)
        for offset in lowercase.indices where bytes[start + offset].lowercasedASCII != lowercase[offset] {
            return false
        }
        return true
    }

    func value(_ field: Field) -> String { String(decoding: valueBytes(field), as: UTF8.self) }

    func valueBytes(_ field: Field) -> ArraySlice<UInt8> {
        bytes[Int(field.value.lowerBound)..<Int(field.value.upperBound)]
    }
}

/// The fields of a request. Names are compared without regard to case, in the received bytes.
public struct RequestHeaders: Sendable {
    let head: RequestHead

    /// The value of a field that occurs once. Nil if it is missing or repeated: two readers could pick different ones.
    /// Use ``values(of:)`` for list fields.
    public subscript(name: HTTPField.Name) -> String? { only(name).map(head.value) }

    /// As ``subscript(_:)``, without making a string.
    package func bytes(of name: HTTPField.Name) -> ArraySlice<UInt8>? { only(name).map(head.valueBytes) }

    private func only(_ name: HTTPField.Name) -> RequestHead.Field? {
        var found: RequestHead.Field?
        var isRepeated = false
        head.forEachField(named: name) { field in
            isRepeated = found != nil
            found = field
            return !isRepeated
        }
        return isRepeated ? nil : found
    }

    /// All values of a field, in their order.
    public func values(of name: HTTPField.Name) -> [String] {
        var values: [String] = []
        head.forEachField(named: name) { field in
            values.append(head.value(field))
            return true
        }
        return values
    }

    /// How often a field occurs.
    public func count(of name: HTTPField.Name) -> Int {
        var count = 0
        head.forEachField(named: name) { _ in
            count += 1
            return true
        }
        return count
    }
}
