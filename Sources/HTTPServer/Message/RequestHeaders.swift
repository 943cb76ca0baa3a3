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
