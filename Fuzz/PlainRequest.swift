/// A request as a simple recipient would read it that takes nothing but what is certain: it shares no code with the
/// server, and knows only where lines end (RFC 9112 sections 2.2, 6 and 7.1).
struct PlainRequest {
    let method: String
    let body: [UInt8]
    let headBytes: Int

    /// Nil unless the bytes are exactly one request, without any ambiguity.
    init?(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        // RFC 9112 section 2.2 allows one empty line before it.
        if rest.starts(with: [0x0D, 0x0A]) { rest = rest.dropFirst(2) }
        guard let requestLine = Self.line(&rest) else { return nil }
        let words = requestLine.split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.count == 3, words.allSatisfy({ !$0.isEmpty }), words[2].starts(with: "HTTP/1.".utf8) else {
            return nil
        }
        method = String(decoding: words[0], as: UTF8.self)
        var fields: [(name: String, value: String)] = []
        while true {
            guard let line = Self.line(&rest) else { return nil }
            if line.isEmpty { break }
            guard let colon = line.firstIndex(of: 0x3A), let first = line.first, first != 0x20, first != 0x09 else {
                return nil
            }
            let value = line[line.index(after: colon)...].drop { $0 == 0x20 || $0 == 0x09 }
            fields.append((String(decoding: line[..<colon], as: UTF8.self).lowercased(), Self.text(value)))
        }
        headBytes = rest.startIndex - bytes.startIndex
        let lengths = fields.filter { $0.name == "content-length" }.map(\.value)
        let codings = fields.filter { $0.name == "transfer-encoding" }.map(\.value)
        guard lengths.count + codings.count <= 1 else { return nil }
        guard words[2].last != 0x31 || fields.count(where: { $0.name == "host" }) == 1 else { return nil }
        if let coding = codings.first {
            guard coding.lowercased() == "chunked", words[2].last != 0x30, let content = Self.dechunked(&rest) else {
                return nil
            }
            body = content
        } else if let text = lengths.first {
            guard let length = Int(text), length >= 0, length == rest.count else { return nil }
            body = Array(rest)
            rest = []
        } else {
            body = []
        }
        guard rest.isEmpty else { return nil }
    }

    /// Without white space at its end.
    private static func text(_ value: ArraySlice<UInt8>) -> String {
        var value = value
        while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
        return String(decoding: value, as: UTF8.self)
    }

    /// Removes a line that ends with CR LF; nil if there is none, or if it has another CR, or a NUL.
    private static func line(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let end = rest.firstIndex(of: 0x0A) else { return nil }
        var line = rest[..<end]
        rest = rest[(end + 1)...]
        guard line.popLast() == 0x0D, !line.contains(0x0D), !line.contains(0) else { return nil }
        return line
    }

    private static func dechunked(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        var content: [UInt8] = []
        while true {
            guard let line = line(&rest) else { return nil }
            let digits = line.prefix { $0 != 0x3B && $0 != 0x20 && $0 != 0x09 }
            guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0, size <= rest.count
            else {
                return nil
            }
            if size == 0 { break }
            content += rest.prefix(size)
            rest = rest.dropFirst(size)
            guard let end = PlainRequest.line(&rest), end.isEmpty else { return nil }
        }
        while let trailer = line(&rest) {
            if trailer.isEmpty { return content }
        }
        return nil
    }
}
