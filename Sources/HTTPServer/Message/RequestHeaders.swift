public import HTTPTypes

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
        for field in head.fields where head.isNamed(field, name) {
            guard found == nil else { return nil }
            found = field
        }
        return found
    }

    /// All values of a field, in their order.
    public func values(of name: HTTPField.Name) -> [String] {
        head.fields.filter { head.isNamed($0, name) }.map(head.value)
    }

    /// How often a field occurs.
    public func count(of name: HTTPField.Name) -> Int {
        head.fields.reduce(0) { $0 + (head.isNamed($1, name) ? 1 : 0) }
    }
}
