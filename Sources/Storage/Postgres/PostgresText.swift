import StorageModel

/// Texts as PostgreSQL can keep them: it takes every character but NUL.
///
/// A NUL is kept as U+E000 and `0`; so that no two texts become one, U+E000 itself (a character that Unicode gives no
/// meaning) is kept as U+E000 and `1`.
enum PostgresText {
    private static let mark: [UInt8] = [0xEE, 0x80, 0x80]

    static func encode(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        guard bytes.contains(where: { $0 == 0 || $0 == mark[0] }) else { return bytes }
        var kept: [UInt8] = []
        var rest = bytes[...]
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
        return kept
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
