import HTTPCore
public import HTTPTypes

/// A request line and its fields: the received bytes, and the ranges of the fields in them.
public final class RequestHead: Sendable {
    /// The ranges of a field's name and value.
    struct Field: Sendable {
        let name: Range<UInt32>
        let value: Range<UInt32>
    }

    /// The method.
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
        self.bytes = bytes
    }

    /// Compares a field's name without regard to case.
    func isNamed(_ field: Field, _ name: HTTPField.Name) -> Bool {
        let lowercase = name.canonicalName
        guard field.name.count == lowercase.utf8.count else { return false }
        var index = Int(field.name.lowerBound)
        for expected in lowercase.utf8 {
            guard ASCII.lowercased(bytes[index]) == expected else { return false }
            index += 1
        }
        return true
    }

    func value(_ field: Field) -> String { String(decoding: valueBytes(field), as: UTF8.self) }

    func valueBytes(_ field: Field) -> ArraySlice<UInt8> {
        bytes[Int(field.value.lowerBound)..<Int(field.value.upperBound)]
    }
}
