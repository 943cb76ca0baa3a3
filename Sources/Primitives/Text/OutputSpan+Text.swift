/// Writes text into space that was reserved for a whole message, which costs less than growing an array piece by piece.
///
/// Writing beyond the space traps, as it does for every OutputSpan. No input can cause it: callers reserve the sum of
/// the lengths of what they write.
extension OutputSpan<UInt8> {
    @inlinable @inline(__always)
    package mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        withUnsafeMutableBufferPointer { buffer, count in
            precondition(bytes.count <= buffer.count - count, "the message is longer than the space for it")
            guard let free = buffer.baseAddress?.advanced(by: count) else { return }
            free.initialize(from: start, count: bytes.count)
            count += bytes.count
        }
    }

    @inlinable
    package mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append($0) } }

    @inlinable @inline(__always)
    package mutating func append(_ text: StaticString) { text.withUTF8Buffer { append($0) } }

    @inlinable
    package mutating func append(_ text: String) { text.withBytes { append($0) } }

    @inlinable
    package mutating func append(decimal number: Int) {
        DecimalDigits.withDigits(of: UInt64(number)) { append($0) }
    }
}

extension [UInt8] {
    /// As `init(repeating:count:)`, whose code is not specialized for bytes.
    init(zeros count: Int) {
        self = []
        append(addingCapacity: count) { $0.append(repeating: 0, count: count) }
    }
}

/// The decimal digits of numbers, for messages that are written as bytes: no string is made.
@usableFromInline
package enum DecimalDigits {
    /// Calls `body` with the digits in ASCII, without leading zeros; a single one for 0.
    @inlinable
    package static func withDigits<Value>(of number: UInt64, _ body: (UnsafeBufferPointer<UInt8>) -> Value) -> Value {
        // The greatest number has 20 digits.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var first = digits.count
            var rest = number
            repeat {
                first -= 1
                digits.initializeElement(at: first, to: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
                rest /= 10
            } while rest > 0
            return body(UnsafeBufferPointer(rebasing: UnsafeBufferPointer(digits)[first...]))
        }
    }
}
