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

    public init() {}

    /// Reads `name=value&name=value`. Nil for a malformed escape, decoded bytes that are not UTF-8, or more than
    /// `maximumItems` parameters.
    public init?(_ text: String, maximumItems: Int = 100) {
        guard let items = text.withBytes({ Self.items($0, maximum: maximumItems) }) else { return nil }
        self.items = items
    }

    /// As ``init(_:maximumItems:)``, of the bytes of a body. Nil also if they are not UTF-8.
    package init?(_ bytes: [UInt8], maximumItems: Int = 100) {
        guard let items = bytes.withUnsafeBufferPointer({ Self.items($0, maximum: maximumItems) }) else { return nil }
        self.items = items
    }

    /// Reads what browsers bring from elsewhere. Its author would not see an error: broken escapes stay as they are,
    /// and bytes that are not UTF-8 are replaced (URL Standard, application/x-www-form-urlencoded). Nil for more than
    /// 100 parameters.
    package init?(repairing bytes: some Collection<UInt8>) {
        let parts = bytes.split(separator: UInt8(ascii: "&"), maxSplits: 100)
        guard parts.count <= 100 else { return nil }
        items = parts.map { part in
            let value = part.firstIndex(of: UInt8(ascii: "=")).map { part[$0...].dropFirst() }
            return Item(
                name: PercentEncoding.repairForm(part.prefix { $0 != UInt8(ascii: "=") }),
                value: PercentEncoding.repairForm(value ?? part.suffix(0)))
        }
    }

    package func only(_ names: [String]) -> Query {
        var query = self
        query.items.removeAll { item in !names.contains { item.name.hasSameBytes(as: $0) } }
        return query
    }

    private static func items(_ bytes: UnsafeBufferPointer<UInt8>, maximum: Int) -> [Item]? {
        var items: [Item] = []
        var start = 0
        while start < bytes.count {
            let rest = bytes[start...]
            let end = rest.firstIndex(of: UInt8(ascii: "&")) ?? bytes.count
            let part = rest[..<end]
            start = end + 1
            guard !part.isEmpty else { continue }
            guard items.count < maximum else { return nil }
            let equals = part.firstIndex(of: UInt8(ascii: "=")) ?? end
            guard let name = PercentEncoding.decodeForm(part[..<equals]),
                let value = PercentEncoding.decodeForm(part[min(equals + 1, end)...])
            else { return nil }
            items.append(Item(name: name, value: value))
        }
        return items
    }

    /// The value of a parameter that occurs once; nil if it is missing or repeated (RFC 6749 section 3.1 forbids that).
    public subscript(name: String) -> String? {
        var found: String?
        for item in items where item.name.hasSameBytes(as: name) {
            guard found == nil else { return nil }
            found = item.value
        }
        return found
    }

    package func repeats(_ name: String) -> Bool { items.count { $0.name.hasSameBytes(as: name) } > 1 }

    /// The first name that occurs more than once, if any.
    public var repeatedName: String? {
        var seen: Set<BytesOfText> = []
        return items.first { !seen.insert(BytesOfText($0.name)).inserted }?.name
    }
}
