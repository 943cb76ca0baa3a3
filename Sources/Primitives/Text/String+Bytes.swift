extension String {
    /// Whether two texts have the same bytes. `==` also accepts texts that Unicode calls equivalent, such as `K` and
    /// the Kelvin sign; identifiers are compared unit by unit (RFC 8259 section 8.3).
    public func hasSameBytes(as other: String) -> Bool {
        var (left, right) = (self, other)
        return left.withUTF8 { left in right.withUTF8 { right in left.elementsEqual(right) } }
    }

    /// As ``hasSameBytes(as:)``, in a time that depends only on the lengths. For secrets.
    public func hasSameBytesInConstantTime(as other: String) -> Bool {
        var (left, right) = (self, other)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                guard left.count == right.count else { return false }
                var difference: UInt8 = 0
                for index in left.indices { difference |= left[index] ^ right[index] }
                return difference == 0
            }
        }
    }
}
