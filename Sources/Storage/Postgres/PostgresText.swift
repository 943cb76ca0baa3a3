import Glibc
import Primitives

/// Texts in a form that PostgreSQL can store: it refuses NUL.
///
/// NUL is stored as U+E000 and `0`. U+E000 itself (a private-use character) is stored as U+E000 and `1`, so that no two
/// texts become one.
enum PostgresText {
    private static let mark: [UInt8] = [0xEE, 0x80, 0x80]

    static func encode(_ text: String, to kept: inout [UInt8]) {
        let isPlain = text.withBytes { bytes in
            guard let start = bytes.baseAddress else { return true }
            let isPlain = memchr(start, 0, bytes.count) == nil && memchr(start, CInt(mark[0]), bytes.count) == nil
            if isPlain { kept.append(contentsOf: bytes) }
            return isPlain
        }
        guard !isPlain else { return }
        var rest = Array(text.utf8)[...]
        while let byte = rest.first {
            if byte == 0 {
                kept += mark + [UInt8(ascii: "0")]
                rest = rest.dropFirst()
            } else if rest.starts(with: mark) {
                kept += mark + [UInt8(ascii: "1")]
                rest = rest.dropFirst(mark.count)
            } else {
                kept.append(byte)
                rest = rest.dropFirst()
            }
        }
    }

    static func decode(_ bytes: UnsafeRawBufferPointer) -> String {
        guard let start = bytes.baseAddress, memchr(start, CInt(mark[0]), bytes.count) != nil else {
            return String(decoding: bytes, as: UTF8.self)
        }
        var text: [UInt8] = []
        var rest = Array(bytes)[...]
        while let byte = rest.first {
            if rest.starts(with: mark) {
                rest = rest.dropFirst(mark.count)
                if rest.popFirst() == UInt8(ascii: "0") { text.append(0) } else { text += mark }
            } else {
                text.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
