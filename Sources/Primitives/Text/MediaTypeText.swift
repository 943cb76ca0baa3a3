/// Reads media types of header fields (RFC 9110 section 8.3.1).
public enum MediaTypeText {
    /// Type and subtype in lower case, without parameters and surrounding blanks. Nil if the field is not ASCII.
    public static func essence(of field: String) -> String? {
        field.withBytes { bytes -> String? in
            var end = 0
            while end < bytes.count, bytes[end] != UInt8(ascii: ";") { end += 1 }
            guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
            var start = 0
            while start < end, isBlank(bytes[start]) { start += 1 }
            while end > start, isBlank(bytes[end - 1]) { end -= 1 }
            return String(unsafeUninitializedCapacity: end - start) { text in
                for index in start..<end { text[index - start] = bytes[index].lowercasedASCII }
                return end - start
            }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
