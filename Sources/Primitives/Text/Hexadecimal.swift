extension Sequence<UInt8> {
    /// Two lower-case hexadecimal digits for each byte.
    public var hexadecimal: String {
        withContiguousStorageIfAvailable(Self.digits) ?? Array(self).withUnsafeBufferPointer(Self.digits)
    }

    /// Not generic in its bytes: each digit costs no call.
    private static func digits(of bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
            for (index, byte) in bytes.enumerated() {
                text[2 * index] = (byte >> 4).hexadecimalDigit
                text[2 * index + 1] = (byte & 15).hexadecimalDigit
            }
            return 2 * bytes.count
        }
    }
}

extension BinaryInteger {
    /// The digits of a number that is not negative, with zeros before them up to a count.
    package func digits(_ count: Int) -> String {
        let text = String(self)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}

extension UInt8 {
    /// The lower-case hexadecimal digit of a number below 16.
    var hexadecimalDigit: UInt8 { self < 10 ? UInt8(ascii: "0") + self : UInt8(ascii: "a") - 10 + self }

    /// The number that a hexadecimal digit of either case stands for; nil for any other byte.
    @inlinable
    package var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
