public import Glibc
public import Primitives

/// The parts of a header field, as ranges of the bytes of its line. Inlined into other modules, which read each request
/// and response by them.
extension Span<UInt8> {
    /// Compares without regard to case; `lowercase` must be in lower case.
    @inlinable
    package func equals(_ range: Range<Int>, _ lowercase: StaticString) -> Bool {
        guard range.count == lowercase.utf8CodeUnitCount else { return false }
        return lowercase.withUTF8Buffer { expected in
            for offset in 0..<range.count
            where self[range.lowerBound + offset].lowercasedASCII != expected[offset] { return false }
            return true
        }
    }

    /// Whether a text is at `start`, in the same case.
    @inlinable
    package func has(_ text: StaticString, at start: Int) -> Bool {
        guard text.utf8CodeUnitCount <= count - start else { return false }
        return text.withUTF8Buffer { expected in
            expected.indices.allSatisfy { self[start + $0] == expected[$0] }
        }
    }

    /// The index of the first line feed from an index on.
    @inlinable
    package func lineFeed(from start: Int) -> Int? {
        extracting(start...).withUnsafeBytes { rest in
            guard let first = rest.baseAddress, let found = memchr(first, Int32(ASCII.lineFeed), rest.count) else {
                return nil
            }
            return start + (UnsafeRawPointer(found) - first)
        }
    }

    /// The range without white space at its ends.
    @inlinable
    package func trimmed(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, ASCII.isWhitespace(self[start]) { start += 1 }
        while end > start, ASCII.isWhitespace(self[end - 1]) { end -= 1 }
        return start..<end
    }

    /// The text at a range; bytes that are not UTF-8 are replaced.
    @inlinable
    package func text(_ range: Range<Int>) -> String {
        extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    /// The number that decimal digits say, and whether it is too large for an `Int`; nil for anything but digits.
    @inlinable
    package func decimal(_ range: Range<Int>) -> (number: Int, overflows: Bool)? {
        guard !range.isEmpty else { return nil }
        var (number, overflows) = (0, false)
        for index in range {
            guard self[index].isASCIIDigit else { return nil }
            let (tens, overflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(Int(self[index] - UInt8(ascii: "0")))
            overflows = overflows || overflow || carry
            number = overflows ? .max : sum
        }
        return (number, overflows)
    }

    /// Calls back with each element of a comma-separated list (RFC 9110 section 5.6.1), without white space around it.
    @inlinable
    package func forEachElement(of list: Range<Int>, _ call: (Range<Int>) -> Void) {
        var start = list.lowerBound
        while start < list.upperBound {
            var end = start
            while end < list.upperBound, self[end] != UInt8(ascii: ",") { end += 1 }
            call(trimmed(start..<end))
            start = end + 1
        }
    }
}
