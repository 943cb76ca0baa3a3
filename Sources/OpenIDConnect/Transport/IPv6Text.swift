/// IPv6 addresses in text (RFC 4291 section 2.2), as they stand between the brackets of a URL.
enum IPv6Text {
    private static let colon = UInt8(ascii: ":")

    /// The address in lower case, the loopback address as `::1` however it was written; nil if the text is not an
    /// address. A zone (`%eth0`) and a dotted IPv4 tail are refused: no provider needs them.
    static func normalized(_ text: Substring) -> String? {
        guard text.utf8.count <= 39, let groups = parse(Array(text.utf8)) else { return nil }
        return groups == [0, 0, 0, 0, 0, 0, 0, 1] ? "::1" : text.lowercased()
    }

    private static func parse(_ bytes: [UInt8]) -> [UInt16]? {
        guard let gap = zip(bytes, bytes.dropFirst()).enumerated().first(where: { $1 == (colon, colon) })?.offset else {
            return groups(bytes[...]).flatMap { $0.count == 8 ? $0 : nil }
        }
        guard let head = groups(bytes[..<gap]), let tail = groups(bytes[(gap + 2)...]), head.count + tail.count <= 7
        else { return nil }
        return head + [UInt16](repeating: 0, count: 8 - head.count - tail.count) + tail
    }

    private static func groups(_ bytes: ArraySlice<UInt8>) -> [UInt16]? {
        guard !bytes.isEmpty else { return [] }
        var values: [UInt16] = []
        for group in bytes.split(separator: colon, omittingEmptySubsequences: false) {
            guard group.count <= 4, group.first != UInt8(ascii: "+"),
                let value = UInt16(String(decoding: group, as: UTF8.self), radix: 16)
            else { return nil }
            values.append(value)
        }
        return values
    }
}
