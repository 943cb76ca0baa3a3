extension String {
    /// Whether no character has more than 30 combining marks: Unicode's Stream-Safe Text Format (UAX #15 section 13).
    ///
    /// To compare or hash texts, Swift sorts the marks of each character in a time that is quadratic in their number.
    /// Without this bound, some kilobytes of marks would take a good part of a second.
    public var isStreamSafe: Bool { withBytes(Self.isStreamSafe) }

    /// Reads the bytes itself: most characters are told apart from marks by their first byte.
    private static func isStreamSafe(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let table = Self.marks
        var marks = 0
        var index = 0
        while index < bytes.count {
            // The first combining mark is U+0300, which begins with the byte 0xCC. Lower ones are of ASCII, or begin or
            // continue a lower character.
            guard bytes[index] >= 0xCC else {
                marks = 0
                index += 1
                continue
            }
            let (value, length) = scalar(in: bytes, at: index)
            index += length
            guard value < 0x20000, table[Int(value >> 6)] >> UInt64(value & 63) & 1 == 1 else {
                marks = 0
                continue
            }
            marks += 1
            guard marks <= 30 else { return false }
        }
        return true
    }

    /// The value of the scalar that begins at an index with a byte above 0x7F, and its length. Zero where the text ends
    /// before it does, as no valid UTF-8 text does.
    @inline(__always)
    private static func scalar(in bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> (value: UInt32, length: Int) {
        let first = UInt32(bytes[index])
        let length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
        guard bytes.count - index >= length else { return (0, length) }
        var value = first & (0x7F >> UInt32(length))
        for next in index + 1..<index + length { value = value << 6 | UInt32(bytes[next] & 0x3F) }
        return (value, length)
    }

    /// A bit for each scalar below U+20000: whether it is a combining mark. Unicode's own table costs 200 instructions
    /// for each scalar of a text, and a client chooses the text.
    private static let marks: [UInt64] = {
        var marks = [UInt64](repeating: 0, count: 0x20000 / 64)
        for range in rangesWithMarks {
            for value in range {
                guard let scalar = Unicode.Scalar(value), scalar.properties.canonicalCombiningClass != .notReordered
                else { continue }
                marks[Int(value >> 6)] |= 1 << UInt64(value & 63)
            }
        }
        return marks
    }()

    /// All combining marks are in these; elsewhere are ideographs, syllables and what is for private use. To look at
    /// every scalar would take 200 ms.
    private static let rangesWithMarks: [Range<UInt32>] = [
        0x300..<0x3400, 0xA600..<0xAC00, 0xFB00..<0xFF00, 0x10000..<0x12000, 0x16100..<0x16140, 0x16A00..<0x17000,
        0x1BC00..<0x1BD00,
        0x1CF00..<0x1D300, 0x1DF00..<0x1EA00,
    ]
}
