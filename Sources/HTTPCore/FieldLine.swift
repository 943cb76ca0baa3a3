import Primitives

/// One `name: value` line (RFC 9112 section 5), as ranges of the bytes it was read from.
package struct FieldLine {
    package let name: Range<Int>
    /// The range of the value, without the white space around it.
    package let value: Range<Int>

    /// Reads the line at `line`, without its end. Nil if it is malformed.
    @inlinable
    package init?(_ bytes: Span<UInt8>, at line: Range<Int>) {
        var index = line.lowerBound
        while index < line.upperBound, bytes[index].isToken { index += 1 }
        guard index < line.upperBound, bytes[index] == ASCII.colon, index > line.lowerBound else { return nil }
        name = line.lowerBound..<index
        value = bytes.trimmed(index + 1..<line.upperBound)
        guard bytes.extracting(value).withUnsafeBufferPointer({ $0.consists(of: ASCII.isFieldValue) }) else {
            return nil
        }
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Looks at all bytes in any case: without an early end, the compiler tests sixteen at once.
    @inlinable @inline(__always)
    package func consists(of isMember: (UInt8) -> Bool) -> Bool {
        var others: UInt8 = 0
        for byte in self { others |= isMember(byte) ? 0 : 1 }
        return others == 0
    }
}

/// The options of a message's `Connection` fields that decide whether its connection persists (RFC 9112 section 9.3).
package struct ConnectionOptions: Sendable, Hashable {
    @usableFromInline var hasClose = false
    @usableFromInline var hasKeepAlive = false

    @inlinable
    package init() {}

    /// Adds the options of a field's value.
    @inlinable
    package mutating func add(_ list: Range<Int>, in bytes: Span<UInt8>) {
        bytes.forEachElement(of: list) { option in
            if bytes.equals(option, "close") { hasClose = true }
            if bytes.equals(option, "keep-alive") { hasKeepAlive = true }
        }
    }

    @inlinable
    package func keepAlive(minorVersion: Int) -> Bool { !hasClose && (minorVersion >= 1 || hasKeepAlive) }
}
