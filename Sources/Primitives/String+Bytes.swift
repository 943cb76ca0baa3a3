extension String {
    /// Whether two texts are the same to the byte. (`==` takes texts for equal that Unicode calls equivalent, such as
    /// `K` and the Kelvin sign; identifiers are compared as RFC 8259 section 8.3 does, unit by unit.)
    public func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }

    /// As ``hasSameBytes(as:)``, in a time that depends on the lengths only. For secrets, and what is guessed at.
    public func hasSameBytesInConstantTime(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        var difference: UInt8 = 0
        for (left, right) in zip(utf8, other.utf8) { difference |= left ^ right }
        return difference == 0
    }
}
