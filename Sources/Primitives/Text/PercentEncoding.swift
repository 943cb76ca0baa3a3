/// Percent-encoding (RFC 3986 section 2.1) and the form encoding that is made of it.
package enum PercentEncoding {
    private static let digits = Array("0123456789ABCDEF".utf8)
    private static let unreserved: [Bool] = {
        (0...UInt8.max).map(isUnreserved)
    }()

    /// The unreserved characters of RFC 3986 section 2.3.
    @inlinable @inline(__always)
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        // A bit for each of the letters, the digits and - . _ ~
        let (low, high): (UInt64, UInt64) = (0x3FF600000000000, 0x47FFFFFE87FFFFFE)
        guard byte < 128 else { return false }
        return (byte < 64 ? low : high) >> UInt64(byte & 63) & 1 == 1
    }

    /// Appends a text with all but unreserved characters as `%XX`. That is right in a query as in a form, where both
    /// `+` and `%20` mean a space.
    package static func append(_ text: String, to bytes: inout [UInt8]) {
        text.withBytes { text in
            unreserved.withUnsafeBufferPointer { unreserved in
                var start = 0
                while true {
                    // Most texts need no encoding at all.
                    var end = start
                    while end < text.count, unreserved[Int(text[end])] { end += 1 }
                    bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<end]))
                    guard end < text.count else { return }
                    bytes.append(UInt8(ascii: "%"))
                    bytes.append(digits[Int(text[end] >> 4)])
                    bytes.append(digits[Int(text[end] & 15)])
                    start = end + 1
                }
            }
        }
    }

    /// The items as `name=value&name=value`, both sides encoded.
    package static func form(_ items: [(name: String, value: String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        for item in items {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            append(item.name, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            append(item.value, to: &bytes)
        }
        return bytes
    }

    /// Decodes a path; nil for a malformed escape, a NUL, bytes that are not UTF-8, or a character with more combining
    /// marks than text has (see ``Swift/String/isStreamSafe``).
    @inlinable
    package static func decodePath(_ bytes: some Collection<UInt8>) -> String? {
        decode(bytes, plusIsSpace: false)
    }

    /// Decodes a name or value of a form, where `+` stands for a space; nil as of ``decodePath(_:)``.
    @inlinable
    package static func decodeForm(_ bytes: some Collection<UInt8>) -> String? {
        decode(bytes, plusIsSpace: true)
    }

    /// As ``decodeForm(_:)``, for a text that cannot be refused: a malformed escape stays as it is, and a NUL, bytes
    /// that are not UTF-8, and a text with too many combining marks become U+FFFD.
    package static func repairForm(_ bytes: some Collection<UInt8>) -> String {
        if let text = decodeForm(bytes) { return text }
        let bytes = Array(bytes)
        var decoded: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count, let high = bytes[index + 1].hexadecimalValue,
                let low = bytes[index + 2].hexadecimalValue
            {
                decoded.append(high << 4 | low)
                index += 3
            } else {
                decoded.append(bytes[index] == UInt8(ascii: "+") ? UInt8(ascii: " ") : bytes[index])
                index += 1
            }
        }
        // 0xFF is never in UTF-8.
        let text = String(decoding: decoded.map { $0 == 0 ? 0xFF : $0 }, as: UTF8.self)
        return text.isStreamSafe ? text : "\u{FFFD}"
    }

    @inlinable
    static func decode(_ bytes: some Collection<UInt8>, plusIsSpace: Bool) -> String? {
        let decoded = bytes.withContiguousStorageIfAvailable { decode(buffer: $0, plusIsSpace: plusIsSpace) }
        if let decoded { return decoded }
        return Array(bytes).withUnsafeBufferPointer { decode(buffer: $0, plusIsSpace: plusIsSpace) }
    }

    /// Not generic in its bytes: a step to the next one through a generic collection costs a hundred times as much.
    @usableFromInline
    static func decode(buffer: UnsafeBufferPointer<UInt8>, plusIsSpace: Bool) -> String? {
        var isWellFormed = true
        var bits: UInt8 = 0
        // Each byte of the result is of one byte or more of the text, so that it has room.
        let decoded = [UInt8](unsafeUninitializedCapacity: buffer.count) { decoded, count in
            var index = 0
            while index < buffer.count {
                var byte = buffer[index]
                index += 1
                if byte == UInt8(ascii: "%") {
                    guard buffer.count - index >= 2, let high = buffer[index].hexadecimalValue,
                        let low = buffer[index + 1].hexadecimalValue
                    else { return isWellFormed = false }
                    byte = high << 4 | low
                    index += 2
                } else if byte == UInt8(ascii: "+"), plusIsSpace {
                    byte = UInt8(ascii: " ")
                }
                guard byte != 0 else { return isWellFormed = false }
                bits |= byte
                decoded[count] = byte
                count += 1
            }
        }
        guard isWellFormed else { return nil }
        // ASCII, which is UTF-8 without marks.
        guard bits >= 0x80 else { return String(decoding: decoded, as: UTF8.self) }
        guard let text = String(validating: decoded, as: UTF8.self), text.isStreamSafe else { return nil }
        return text
    }
}
