import HTTPCore

extension Span<UInt8> {
    /// The index of the first line feed from an index on.
    func lineFeed(from start: Int) -> Int? {
        var index = start
        while index < count {
            if self[index] == 0x0A { return index }
            index += 1
        }
        return nil
    }

    /// Compares without regard to case; `lowercase` must be in lower case.
    func equals(_ range: Range<Int>, _ lowercase: StaticString) -> Bool {
        guard range.count == lowercase.utf8CodeUnitCount else { return false }
        return lowercase.withUTF8Buffer { expected in
            for offset in 0..<range.count {
                let byte = self[range.lowerBound + offset]
                let folded = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
                guard folded == expected[offset] else { return false }
            }
            return true
        }
    }

    /// The range without white space at its ends.
    func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, ASCII.isWhitespace(self[start]) { start += 1 }
        while end > start, ASCII.isWhitespace(self[end - 1]) { end -= 1 }
        return start..<end
    }

    func text(_ range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }
}
