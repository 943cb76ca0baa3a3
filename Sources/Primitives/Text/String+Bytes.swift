#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension String {
    /// Calls a closure with the UTF-8 bytes, which are valid during the call. `withUTF8` would need a variable, and so
    /// a copy of the string.
    @inlinable @inline(__always)
    package func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable(body) { return result }
        // Strings of Foundation on Apple's systems have other bytes.
        return Array(utf8).withUnsafeBufferPointer(body)
    }

    /// Whether two texts have the same bytes. `==` also accepts texts that Unicode calls equivalent, such as `K` and
    /// the Kelvin sign; identifiers are compared unit by unit (RFC 8259 section 8.3).
    public func hasSameBytes(as other: String) -> Bool {
        withBytes { left in
            other.withBytes { right in
                guard left.count == right.count else { return false }
                guard let start = left.baseAddress, let other = right.baseAddress else { return true }
                return memcmp(start, other, left.count) == 0
            }
        }
    }

    /// As ``hasSameBytes(as:)``, in a time that depends only on the lengths. For secrets.
    public func hasSameBytesInConstantTime(as other: String) -> Bool {
        withBytes { left in
            other.withBytes { right in
                guard left.count == right.count else { return false }
                var difference: UInt8 = 0
                for index in left.indices { difference |= left[index] ^ right[index] }
                return difference == 0
            }
        }
    }
}

/// A text that is compared and hashed by its bytes (see ``Swift/String/hasSameBytes(as:)``).
///
/// Swift compares and hashes a text in Unicode's normal form. To bring it there can cost a hundred times as much as to
/// read it.
package struct BytesOfText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: BytesOfText, right: BytesOfText) -> Bool { left.text.hasSameBytes(as: right.text) }

    package func hash(into hasher: inout Hasher) {
        text.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

extension StringProtocol where SubSequence == Substring {
    /// The parts of a text between an ASCII character, found by its byte.
    ///
    /// `split(separator:)` compares what a reader sees as one character. A sender could then hide a separator, with a
    /// scalar that joins with it, such as U+0602 before a comma, or add one that only looks like it: U+037E is
    /// equivalent to the semicolon.
    public func split(
        ascii separator: Unicode.Scalar, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
    ) -> [Substring] {
        self[...].utf8
            .split(
                separator: UInt8(ascii: separator), maxSplits: maxSplits,
                omittingEmptySubsequences: omittingEmptySubsequences
            )
            .map { Substring($0) }
    }
}
