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
