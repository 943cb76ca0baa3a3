import Primitives
import TestSupport
import Testing

@testable import SignIn

@Suite("A made-up value") struct MadeUpValuesTests {
    private static let texts = [
        "", "a", "ab", "a1", "aud", "0123456789abcdef", "user-name_1", "https://login.example/x", "two words", " ",
        "Zoë", "é", "line\nend", "\u{7F}", "tab\t", "{}", String(repeating: "long", count: 500),
    ]

    @Test("has the kind and the length of the value that it stands for", arguments: texts)
    func kind(text: String) throws {
        var pseudonyms = Pseudonyms(.system)
        var values = MadeUpValues()
        let pseudonym = pseudonyms.pseudonym(of: text)
        let made = try values.text(pseudonym)
        #expect(made.utf8.count == text.utf8.count)
        #expect(Pseudonyms.Kind(of: made) == Pseudonyms.Kind(of: text), "\(made)")
        // The same again, also in a text around it.
        #expect(try values.text("https://host/\(pseudonym)?x=\(pseudonym)") == "https://host/\(made)?x=\(made)")
    }

    @Test("is another one for another value, and no word of a specification")
    func different() throws {
        var pseudonyms = Pseudonyms(.system)
        var values = MadeUpValues()
        var seen: Set<String> = []
        for length in [2, 3, 8, 40] {
            for number in 0..<40 {
                let text = String(repeating: "x", count: length - 2) + (number < 10 ? "0" : "") + "\(number)"
                let made = try values.text(pseudonyms.pseudonym(of: text))
                #expect(made.utf8.count == length)
                #expect(seen.insert(made).inserted, "\(made)")
                #expect(!CapsuleVocabulary.values.contains(made))
            }
        }
    }

    @Test("of a number is a number of its kind")
    func numbers() throws {
        var values = MadeUpValues()
        let whole = try values.value("‹integer 19 a1b2c3›").integer
        #expect(whole.map { $0 > 1 << 53 } == true)
        #expect(try values.value("‹integer 1 a1b2c3›") == 1)
        #expect(try values.value("‹negative 5 a1b2c3›").integer.map { $0 < 0 } == true)
        #expect(try values.value("‹fraction 5 a1b2c3›").integer == nil)
        #expect(try values.value("‹fraction 5 a1b2c3›").double != nil)
    }

    @Test(
        "What is no pseudonym stays as it is",
        arguments: ["‹word 8›", "‹", "‹›", "›‹", "‹word x a›", "‹word 8 z›", "‹word -1 a›", "Bearer"])
    func others(text: String) throws {
        var values = MadeUpValues()
        #expect(try values.text(text) == text)
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
        var values = MadeUpValues()
        for name in ["exp", "iat", "nbf", "auth_time"] {
            let shown = shape.shape(try JSONValue(parsing: Array(number.utf8)), named: name)
            let made = try #require(try values.value(shown).double)
            // As ClaimValidationContext.numericDate reads it.
            #expect((made >= 0 && made < 0x1p53) == isTime, "\(shown.text)")
            #expect((made > 1_900_000_000) == isAfter, "\(shown.text)")
        }
    }

    /// A value that is more than any capsule stands for.
    static let large: [JSONValue] = [
        .texts((0..<100).map { "‹word 65536 \($0)›" }),
        // The same value often.
        .texts((0..<100).map { _ in "‹word 65536 a›" }), .string(String(repeating: "‹word 65536 a›", count: 100)),
        .string("‹word 65537 a›"),
        // Counts that multiply.
        [[[1, "… 1000 in all"], "… 1000 in all"], "… 1000 in all"], [["‹word 60000 a›", "… 1000 in all"]],
    ]

    @Test("is refused if the values are longer or more than any response", arguments: large)
    func bounded(value: JSONValue) {
        var values = MadeUpValues()
        let error = #expect(throws: CapsuleReplay.Refusal.self) { try values.value(value) }
        #expect(error?.code == .unreadable)
    }

    @Test("is refused if no other value of the length is left")
    func exhausted() {
        var values = MadeUpValues()
        let error = #expect(throws: CapsuleReplay.Refusal.self) {
            for number in 0..<17 { _ = try values.text("‹word 1 a\(number)›") }
        }
        #expect(error?.code == .unreadable)
    }

    @Test("of an array has as many elements, if they are no more than a response has")
    func elements() throws {
        var values = MadeUpValues()
        #expect(try values.value(["a", "‹word 3 ab›", "… 70 in all"]).array?.count == 70)
    }

    @Test(
        "A text that stands for one that is not JSON is refused for the same reason",
        arguments: [
            JSONSyntaxError.Code.unexpectedEnd, .unexpectedByte, .trailingBytes, .invalidNumber, .invalidEscape,
            .controlCharacter, .invalidUTF8, .loneSurrogate, .tooManyMarks, .duplicateMember, .tooDeep, .tooLarge,
            .tooManyValues,
        ])
    func faults(code: JSONSyntaxError.Code) {
        let error = #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: FaultyJSON.text(code.rawValue)) }
        #expect(error?.code == code)
    }
}
