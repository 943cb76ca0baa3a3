/// Reads the parts that header fields are made of (RFC 9110 section 5.6), from a field's start.
package struct FieldScanner {
    /// What has not been read.
    package var rest: Substring.UTF8View

    package init(_ field: String) { rest = field[...].utf8 }

    /// Whether the byte is next, which is read then.
    package mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }

    package mutating func skipSpace() { rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } }

    /// The bytes up to the first that does not belong; empty without any.
    package mutating func text(while isMember: (UInt8) -> Bool) -> String {
        let found = rest.prefix(while: isMember)
        rest = rest[found.endIndex...]
        return String(Substring(found))
    }

    /// A quoted string (section 5.6.4), which is next; nil without its end.
    package mutating func quoted() -> String? {
        rest.removeFirst()
        var value: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: value, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { return nil }
                value.append(escaped)
            default: value.append(byte)
            }
        }
        return nil
    }
}
