public import Primitives

/// A mobile phone number as the CAMARA APIs write it: `+` and 5 to 15 digits, the first of which is not 0 (the schema
/// `DevicePhoneNumber` of number-verification.yaml, r3.2).
///
/// The number is personal: it prints and reflects as `‹redacted›`.
public struct MSISDN: Sendable, Hashable, Redacted {
    /// `+` and the digits.
    public let text: String

    /// A number, or nil if the text has another form.
    public init?(_ text: String) {
        // By bytes: a character may be a + or a digit with further scalars.
        let digits = text.utf8.dropFirst()
        guard text.utf8.first == UInt8(ascii: "+"), (5...15).contains(digits.count),
            digits.allSatisfy(\.isASCIIDigit), digits.first != UInt8(ascii: "0")
        else { return nil }
        self.text = text
    }
}
