public import HTTPTypes

/// The fields of a request. Looks names up without regard to case, in the bytes that were received.
public struct RequestHeaders: Sendable {
    let head: RequestHead

    /// The value of a field that stands once. Nil if it is missing; nil also if it stands more than once, because a
    /// reader that picks one of two is a reader that can be fooled. Use ``values(of:)`` for fields that are lists.
    public subscript(name: HTTPField.Name) -> String? { only(name).map(head.value) }

    /// As ``subscript(_:)``, the bytes without a copy.
    package func bytes(of name: HTTPField.Name) -> ArraySlice<UInt8>? { only(name).map(head.valueBytes) }

    private func only(_ name: HTTPField.Name) -> RequestHead.Field? {
        var found: RequestHead.Field?
        for field in head.fields where head.isNamed(field, name) {
            guard found == nil else { return nil }
            found = field
        }
        return found
    }

    /// All values of a field, in the order they came.
    public func values(of name: HTTPField.Name) -> [String] {
        head.fields.filter { head.isNamed($0, name) }.map(head.value)
    }

    /// How often a field stands.
    public func count(of name: HTTPField.Name) -> Int {
        head.fields.reduce(0) { $0 + (head.isNamed($1, name) ? 1 : 0) }
    }
}
