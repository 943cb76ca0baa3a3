/// Texts in a form that PostgreSQL can store: it refuses NUL.
///
/// NUL is stored as U+E000 and `0`. U+E000 itself (a private-use character) is stored as U+E000 and `1`, so that no two
/// texts become one.
enum PostgresText {
    private static let mark: [UInt8] = [0xEE, 0x80, 0x80]

    static func encode(_ text: String, to kept: inout [UInt8]) {
        guard text.utf8.contains(where: { $0 == 0 || $0 == mark[0] }) else { return kept += text.utf8 }
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
        guard bytes.contains(mark[0]) else { return String(decoding: bytes, as: UTF8.self) }
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
