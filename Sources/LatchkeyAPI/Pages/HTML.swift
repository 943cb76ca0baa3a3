import Primitives

package enum HTML {
    /// Escapes the characters that can end a text or an attribute's value.
    package static func escaped(_ text: String) -> String {
        text.withBytes { text in
            let length = text.reduce(0) { $0 + (reference(to: $1)?.utf8CodeUnitCount ?? 1) }
            return String(unsafeUninitializedCapacity: length) { escaped in
                var count = 0
                func append(_ byte: UInt8) {
                    escaped[count] = byte
                    count += 1
                }
                for byte in text {
                    guard let reference = reference(to: byte) else {
                        append(byte)
                        continue
                    }
                    for index in 0..<reference.utf8CodeUnitCount { append(reference.utf8Start[index]) }
                }
                return count
            }
        }
    }

    @inline(__always)
    private static func reference(to byte: UInt8) -> StaticString? {
        switch byte {
        case UInt8(ascii: "&"): "&amp;"
        case UInt8(ascii: "<"): "&lt;"
        case UInt8(ascii: ">"): "&gt;"
        case UInt8(ascii: "\""): "&quot;"
        case UInt8(ascii: "'"): "&#39;"
        default: nil
        }
    }
}
