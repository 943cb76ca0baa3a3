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
