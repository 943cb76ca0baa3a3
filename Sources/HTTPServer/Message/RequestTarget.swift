import HTTPCore
import HTTPTypes
import Primitives

/// The target of a request line (RFC 9112 section 3.2).
struct RequestTarget {
    /// Percent-decoded; `*` for the asterisk form.
    let path: String
    let rawQuery: String?

    /// Reads origin-form, absolute-form (Host is still required) and, for OPTIONS, asterisk-form.
    init(_ bytes: Span<UInt8>, at range: Range<Int>, method: HTTPRequest.Method) throws(RequestError) {
        guard method != .connect else { throw .connect }
        if range.count == 1, bytes[range.lowerBound] == UInt8(ascii: "*") {
            guard method == .options else { throw .target }
            path = "*"
            rawQuery = nil
            return
        }
        try RequestTarget.checkCharacters(bytes, at: range)
        let start = try RequestTarget.endOfAuthority(bytes, at: range)
        let end = RequestTarget.questionMark(bytes, at: start..<range.upperBound)
        path = try RequestTarget.decodedPath(bytes, at: start..<end)
        rawQuery = end < range.upperBound ? RequestTarget.query(bytes, at: end + 1..<range.upperBound) : nil
    }

    /// Allows only the characters of RFC 3986, and percent signs before two hexadecimal digits, in a path not `%00`: a
    /// C string would end there. A query may have all visible characters but `#`, and bytes beyond ASCII, as programs
    /// send them that follow a provider's redirect (URL Standard, query state).
    private static func checkCharacters(_ bytes: Span<UInt8>, at range: Range<Int>) throws(RequestError) {
        var index = range.lowerBound
        var mark: Int?
        while index < range.upperBound {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%"), index + 2 < range.upperBound, let high = bytes[index + 1].hexadecimalValue,
                let low = bytes[index + 2].hexadecimalValue
            {
                if high | low == 0 {
                    mark = mark ?? questionMark(bytes, at: range)
                    guard let mark, index > mark else { throw .path }
                }
            } else if byte == UInt8(ascii: "%") || !ASCII.isTarget(byte), !isBracketOfAuthority(byte, bytes, at: range)
            {
                // Looked for once, and only for an unusual character.
                mark = mark ?? questionMark(bytes, at: range)
                guard byte.isVisibleASCII || byte >= 0x80, byte != UInt8(ascii: "#"), let mark, index > mark else {
                    throw byte == ASCII.carriageReturn ? .bareCarriageReturn : .target
                }
            }
            index += 1
        }
    }

    /// The index of the first `?`, or the end of the range.
    private static func questionMark(_ bytes: Span<UInt8>, at range: Range<Int>) -> Int {
        var index = range.lowerBound
        while index < range.upperBound, bytes[index] != UInt8(ascii: "?") { index += 1 }
        return index
    }

    /// The query as received, with bytes beyond ASCII percent-encoded.
    private static func query(_ bytes: Span<UInt8>, at range: Range<Int>) -> String {
        let text = bytes.text(range)
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text }
        var encoded = ""
        for index in range {
            let byte = bytes[index]
            encoded += byte < 0x80 ? String(UnicodeScalar(byte)) : "%" + String(byte, radix: 16, uppercase: true)
        }
        return encoded
    }

    /// Brackets are allowed only around the IPv6 address of an absolute-form target.
    private static func isBracketOfAuthority(_ byte: UInt8, _ bytes: Span<UInt8>, at range: Range<Int>) -> Bool {
        (byte == UInt8(ascii: "[") || byte == UInt8(ascii: "]")) && bytes[range.lowerBound] != UInt8(ascii: "/")
    }

    /// The start of the path: at once in origin-form, after a valid authority in absolute-form.
    private static func endOfAuthority(_ bytes: Span<UInt8>, at range: Range<Int>) throws(RequestError) -> Int {
        if bytes[range.lowerBound] == UInt8(ascii: "/") { return range.lowerBound }
        guard
            let start = end(of: "http://", bytes, at: range) ?? end(of: "https://", bytes, at: range)
        else { throw .target }
        var end = start
        while end < range.upperBound, bytes[end] != UInt8(ascii: "/"), bytes[end] != UInt8(ascii: "?") { end += 1 }
        guard HostField.isValid(bytes, at: start..<end) else { throw .hostInvalid }
        for index in end..<questionMark(bytes, at: end..<range.upperBound)
        where bytes[index] == UInt8(ascii: "[") || bytes[index] == UInt8(ascii: "]") { throw .target }
        return end
    }

    private static func end(of prefix: StaticString, _ bytes: Span<UInt8>, at range: Range<Int>) -> Int? {
        let end = range.lowerBound + prefix.utf8CodeUnitCount
        return end < range.upperBound && bytes.equals(range.lowerBound..<end, prefix) ? end : nil
    }

    /// Whether a path has an escape or may have a dot segment.
    private static func needsCare(_ bytes: Span<UInt8>, at range: Range<Int>) -> Bool {
        var previous: UInt8 = 0
        for index in range {
            let byte = bytes[index]
            if byte == UInt8(ascii: "%") || byte == UInt8(ascii: ".") && previous == UInt8(ascii: "/") { return true }
            previous = byte
        }
        return false
    }

    private static func slashes(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        bytes.count { $0 == UInt8(ascii: "/") }
    }

    /// Refuses dot segments, and encoded slashes, backslashes and control characters: two readers may see different
    /// paths.
    private static func decodedPath(_ bytes: Span<UInt8>, at range: Range<Int>) throws(RequestError) -> String {
        guard !range.isEmpty else { return "/" }
        let raw = bytes.text(range)
        guard needsCare(bytes, at: range) else { return raw }
        guard let decoded = PercentEncoding.decodePath(raw.utf8),
            decoded.withBytes(slashes) == raw.withBytes(slashes),
            decoded.withBytes({
                $0.allSatisfy { ASCII.isFieldValue($0) && $0 != ASCII.tab && $0 != UInt8(ascii: "\\") }
            }),
            !decoded.split(ascii: "/").contains(where: { $0 == "." || $0 == ".." })
        else { throw .path }
        return decoded
    }
}

extension ASCII {
    private static let target: [Bool] = {
        let others = Set("-._~!$&'()*+,;=:@/?%".utf8)
        return (UInt8.min...UInt8.max).map { $0.isASCIILetterOrDigit || others.contains($0) }
    }()

    /// Bytes of a path and query (RFC 3986 sections 3.3, 3.4). No `#`: a fragment is not sent.
    static func isTarget(_ byte: UInt8) -> Bool { target[Int(byte)] }
}
