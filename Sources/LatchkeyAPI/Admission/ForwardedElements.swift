/// The elements of one line of `Forwarded` (RFC 7239 section 4).
///
/// The line is read from its start by the grammar, without exceptions: a client chooses the start, and a trusted proxy
/// appends to it. With a quote that has no end, the proxy's element would count as text of the client's.
struct ForwardedElements: Sendable, Hashable {
    /// The value of each element's `for`, in their order; nil for an element without one, or with several.
    let forParameters: [String?]

    /// Nil for a line that is not `1#forwarded-element`.
    init?(_ line: String) {
        var scanner = Scanner(rest: line.utf8[...])
        var values: [String?] = []
        repeat {
            guard let element = scanner.element() else { return nil }
            values.append(element.count == 1 ? element.first : nil)
        } while scanner.take(UInt8(ascii: ","))
        guard scanner.rest.isEmpty else { return nil }
        forParameters = values
    }

    private struct Scanner {
        var rest: Substring.UTF8View

        /// The values of `for` in one element, which may be empty (RFC 9110 section 5.6.1.2). Nil for a malformed one.
        mutating func element() -> [String]? {
            var values: [String] = []
            repeat {
                skipSpace()
                guard let first = rest.first, Self.isToken(first) else { continue }
                let name = token()
                guard take(UInt8(ascii: "=")), let value = rest.first == UInt8(ascii: "\"") ? quoted() : word() else {
                    return nil
                }
                if name.lowercased() == "for" { values.append(value) }
                skipSpace()
            } while take(UInt8(ascii: ";"))
            return values
        }

        mutating func take(_ byte: UInt8) -> Bool {
            guard rest.first == byte else { return false }
            rest.removeFirst()
            return true
        }

        private mutating func skipSpace() { rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } }

        private mutating func token() -> String { text(while: Self.isToken) ?? "" }

        /// A value without quotes. Proxies write addresses with colons and brackets so, against the grammar.
        private mutating func word() -> String? {
            text { Self.isToken($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }
        }

        private mutating func text(while isMember: (UInt8) -> Bool) -> String? {
            let found = rest.prefix(while: isMember)
            rest = rest[found.endIndex...]
            return found.isEmpty ? nil : String(Substring(found))
        }

        /// A quoted string (RFC 9110 section 5.6.4); nil without its end.
        private mutating func quoted() -> String? {
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

        /// RFC 9110 section 5.6.2.
        private static func isToken(_ byte: UInt8) -> Bool {
            // A bit for each of the letters, the digits and ! # $ % & ' * + - . ^ _ ` | ~
            let (low, high): (UInt64, UInt64) = (0x3FF_6CFA_0000_0000, 0x57FF_FFFF_C7FF_FFFE)
            guard byte < 128 else { return false }
            return (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 == 1
        }
    }
}
