import Primitives

/// Percent-decoded parameters of a query or of a form (`application/x-www-form-urlencoded`), in the order they came.
public struct Query: Sendable, Hashable {
    public struct Item: Sendable, Hashable {
        public let name: String
        public let value: String
    }

    public private(set) var items: [Item] = []

    /// No parameters.
    public init() {}

    /// Reads `name=value&name=value`. Nil if a percent sign is not followed by two hexadecimal digits, if the decoded
    /// bytes are not UTF-8, or if there are more than `maximumItems`.
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

    /// The value of a parameter that stands once; nil if it is missing or stands more than once (RFC 6749 section 3.1
    /// forbids repeated parameters).
    public subscript(name: String) -> String? {
        var found: String?
        for item in items where item.name == name {
            guard found == nil else { return nil }
            found = item.value
        }
        return found
    }

    /// A name that stands more than once, if there is one.
    public var repeatedName: String? {
        var seen: Set<String> = []
        return items.first { !seen.insert($0.name).inserted }?.name
    }
}
