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

    @Test("is refused if the values are longer than any response")
    func bounded() {
        var values = MadeUpValues()
        #expect(throws: CapsuleReplay.Refusal.self) {
            for number in 0..<8 { _ = try values.text("‹word 1048576 \(number)›") }
        }
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
