extension JSONParser {
    /// The longest text of a number. A `Double` needs far less.
    private static let longestNumber = 64

    /// Reads a number by the grammar of RFC 8259 section 6.
    mutating func parseNumber() throws(JSONSyntaxError) -> JSONValue {
        let start = position
        let isNegative = takeByte(UInt8(ascii: "-"))
        var magnitude: UInt64 = 0
        var isWhole = true
        guard position < count else { throw error(.unexpectedEnd) }
        if bytes[position] == UInt8(ascii: "0") {
            position += 1
        } else {
            guard bytes[position].isASCIIDigit else {
                throw error(position == start ? .unexpectedByte : .invalidNumber)
            }
            isWhole = takeInteger(&magnitude)
        }
        if takeByte(UInt8(ascii: ".")) {
            isWhole = false
            try takeDigits()
        }
        if takeByte(UInt8(ascii: "e")) || takeByte(UInt8(ascii: "E")) {
            isWhole = false
            _ = takeByte(UInt8(ascii: "+")) || takeByte(UInt8(ascii: "-"))
            try takeDigits()
        }
        if isWhole, let value = Self.signed(magnitude, isNegative: isNegative) { return .integer(value) }
        return try inexactNumber(from: start)
    }

    /// Reads all digits; false if the number does not fit.
    private mutating func takeInteger(_ value: inout UInt64) -> Bool {
        var fits = true
        while position < count, bytes[position].isASCIIDigit {
            let (tenfold, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tenfold.addingReportingOverflow(UInt64(bytes[position] - UInt8(ascii: "0")))
            fits = fits && !overflow && !carry
            value = sum
            position += 1
        }
        return fits
    }

    private mutating func takeDigits() throws(JSONSyntaxError) {
        guard position < count else { throw error(.unexpectedEnd) }
        guard bytes[position].isASCIIDigit else { throw error(.invalidNumber) }
        while position < count, bytes[position].isASCIIDigit { position += 1 }
    }

    private mutating func takeByte(_ byte: UInt8) -> Bool {
        guard position < count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    private func inexactNumber(from start: Int) throws(JSONSyntaxError) -> JSONValue {
        let text = UnsafeBufferPointer(rebasing: bytes[start..<position])
        guard text.count <= Self.longestNumber, let value = Double(String(decoding: text, as: UTF8.self)),
            value.isFinite
        else { throw JSONSyntaxError(code: .invalidNumber, offset: start) }
        return .number(value)
    }

    private static func signed(_ magnitude: UInt64, isNegative: Bool) -> Int64? {
        guard isNegative else { return Int64(exactly: magnitude) }
        guard magnitude <= UInt64(Int64.max) else { return nil }
        return -Int64(magnitude)
    }
}
