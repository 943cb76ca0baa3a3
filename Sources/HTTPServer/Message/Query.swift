import Primitives

/// Percent-decoded parameters of a query or a form (`application/x-www-form-urlencoded`), in their order.
public struct Query: Sendable, Hashable {
    /// One parameter.
    public struct Item: Sendable, Hashable {
        /// Decoded.
        public let name: String
        /// Decoded; empty if there is no `=`.
        public let value: String
    }

    /// All parameters, repeated ones included.
    public private(set) var items: [Item] = []

    /// No parameters.
    public init() {}

    /// Reads `name=value&name=value`. Nil for a malformed escape, decoded bytes that are not UTF-8, or more than
    /// `maximumItems` parameters.
    public init?(_ text: String, maximumItems: Int = 100) {
        for part in text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true) {
            guard items.count < maximumItems else { return nil }
            let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? part.endIndex
            let value = equals < part.endIndex ? part[part.index(after: equals)...] : part[part.endIndex...]
            guard let name = PercentEncoding.decodeForm(part[..<equals]), let value = PercentEncoding.decodeForm(value)
            else { return nil }
            items.append(Item(name: name, value: value))
        }
    }

    /// The value of a parameter that occurs once; nil if it is missing or repeated (RFC 6749 section 3.1 forbids that).
    public subscript(name: String) -> String? {
        var found: String?
        for item in items where item.name == name {
            guard found == nil else { return nil }
            found = item.value
        }
        return found
    }

    /// The first name that occurs more than once, if any.
    public var repeatedName: String? {
        var seen: Set<String> = []
        return items.first { !seen.insert($0.name).inserted }?.name
    }
}
