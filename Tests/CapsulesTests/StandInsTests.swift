import Primitives
import Testing

@testable import Capsules

@Suite("A value in the place of a pseudonym") struct StandInsTests {
    private static let texts = [
        "", "a", "0123456789abcdef", "user-name_1", "https://login.example/x", "two words", " ", "Zoë", "é",
        "line\nend", "\u{7F}", "tab\t", "{}", String(repeating: "long", count: 500),
    ]

    @Test("has the length and the form of the text that it stands for", arguments: texts)
    func form(text: String) throws {
        var pseudonyms = Pseudonyms(.system)
        var standIns = StandIns()
        let pseudonym = pseudonyms.pseudonym(of: text)
        let value = try #require(try standIns.text(.string(pseudonym)))
        #expect(value.utf8.count == text.utf8.count)
        // What rules look at: visible characters, with or without spaces.
        for allowed in [0x21...0x7E, 0x20...0x7E] as [ClosedRange<UInt8>] {
            #expect(value.utf8.allSatisfy(allowed.contains) == text.utf8.allSatisfy(allowed.contains), "\(value)")
        }
        #expect(try standIns.text(.string(pseudonym)) == value)
    }

    @Test("is another one for another value")
    func different() throws {
        var pseudonyms = Pseudonyms(.system)
        var standIns = StandIns()
        let values = try (100..<200).compactMap { number in
            try standIns.text(.string(pseudonyms.pseudonym(of: "a-nonce-with-\(number)")))
        }
        #expect(Set(values).count == 100)
    }

    @Test("What is no pseudonym stays as it is", arguments: ["‹word 8›", "‹", "‹›", "›‹", "‹word x a›", "Bearer"])
    func others(text: String) throws {
        var standIns = StandIns()
        #expect(try standIns.text(.string(text)) == text)
    }

    @Test("A claim that is compared with configured texts keeps its pseudonym")
    func compared() throws {
        var standIns = StandIns()
        let shown = try #require(
            try JSONValue(parsing: Array(#"{"aud":"‹word 9 a1›","sub":"‹word 9 a1›"}"#.utf8)).object)
        let claims = try standIns.claims(shown)
        #expect(claims?["aud"]?.string == "‹word 9 a1›")
        #expect(claims?["sub"]?.string == "a1a1a1a1a")
    }

    @Test(
        "of a time keeps its side of the sign-in",
        arguments: [
            ("1", true, false), ("1.5", true, false), ("1500000000", true, false), ("9999999999", true, true),
            ("9999999999.5", true, true), ("9007199254740991", true, true), ("9007199254740992", false, true),
            ("1e300", false, true), ("-1", false, false), ("-0.5", false, false),
        ])
    func sides(number: String, isTime: Bool, isAfter: Bool) throws {
        let now = Timestamp(secondsSinceEpoch: 1_900_000_000)
        var shape = CapsuleShape(Pseudonyms(.system), known: [], at: now)
        var standIns = StandIns()
        for name in ["exp", "iat", "nbf", "auth_time"] {
            let shown = shape.shape(try JSONValue(parsing: Array(number.utf8)), named: name)
            let claims = try #require(JSONValue.object(of: [(name, shown)]).object)
            let value = try #require(try standIns.claims(claims)?[name]?.double)
            // As JSONValue.numericDate reads it.
            #expect((value >= 0 && value < 0x1p53) == isTime, "\(shown.text)")
            #expect((value > 1_900_000_000) == isAfter, "\(shown.text)")
        }
    }

    @Test("is refused if the values together are longer than any token")
    func bounded() throws {
        var standIns = StandIns()
        _ = try standIns.text("‹word 65530 a1›")
        for length in ["7", "9223372036854775807"] {
            let error = #expect(throws: CapsuleReplay.ReplayError.self) {
                try standIns.text(.string("‹word \(length) a›"))
            }
            #expect(error?.code == .unreadable)
        }
    }
}
