import Crypto
import OpenIDConnect
import StorageModel
import Testing

@testable import Backchannel

/// What counts as the phone number of a hint.
@Suite("Phone numbers in hints")
struct PhoneNumberTests {
    @Test(
        "A number is in international form, as long as its country allows",
        arguments: [
            ("+12125550123", "+12125550123"), ("+14152000123", "+14152000123"), ("+11125550123", nil),
            ("+14151000123", nil), ("2125550123", "+12125550123"), ("1125550123", nil), ("+1212555012", nil),
            ("+121255501234", nil), ("+4930123", "+4930123"), ("+493012", nil),
            ("+493012345678901", "+493012345678901"),
            ("+4930123456789012", nil), ("+79123456789", "+79123456789"), ("+7912345678", nil), ("+49030123", nil),
            ("+39030123", "+39030123"), ("tel:+12125550123", "+12125550123"), ("TEL:+1-212-555-0123", "+12125550123"),
            ("tel:", nil), ("tel:+", nil), ("", nil), ("+", nil),
        ] as [(String, String?)])
    func number(text: String, expected: String?) throws {
        let network = try #require(MCCMNC("310010"))
        #expect(PhoneNumber(text, at: network)?.text == expected)
    }

    @Test(
        "Spellings of one number are one user, from seven digits on",
        arguments: [
            ("1234567", "123-4567", true), ("123456", "123-456", false), ("+1 (212) 555.0123", "12125550123", true),
        ])
    func spelling(one: String, other: String, isSame: Bool) throws {
        let key = SymmetricKey(data: Array(repeating: 7, count: 32))
        func hash(_ text: String) throws -> String {
            try #require(UserHint(loginHint: text)).hash(with: key, at: "https://issuer.example").bytes.description
        }
        #expect(try (hash(one) == hash(other)) == isSame)
    }
}
