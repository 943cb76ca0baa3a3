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
