import Primitives
import Testing

struct JSONParsingTests {
    struct Read: Sendable, CustomTestStringConvertible {
        let text: String
        let value: JSONValue
        var testDescription: String { text }

        init(_ text: String, _ value: JSONValue) {
            self.text = text
            self.value = value
        }
    }

    @Test(
        "A text that RFC 8259 allows is read",
        arguments: [
            Read("null", .null), Read(" true\n", .bool(true)), Read("\t\rfalse", .bool(false)),
            Read("0", .integer(0)), Read("-0", .integer(0)), Read("-1", .integer(-1)),
            Read("9223372036854775807", .integer(.max)), Read("-9223372036854775807", .integer(-.max)),
            Read("9223372036854775808", .number(0x1p63)), Read("1.5", .number(1.5)), Read("1e2", .number(100)),
            Read("1E+2", .number(100)), Read("-2.5e-1", .number(-0.25)), Read("1e-400", .number(0)),
            Read(#""""#, .string("")), Read(#""a""#, .string("a")),
            Read(#""exactly8""#, .string("exactly8")),
            Read(#""more than sixteen bytes""#, .string("more than sixteen bytes")),
            Read(#""é€😀""#, .string("é€😀")), Read(#""12345678é""#, .string("12345678é")),
            Read(#""\"\\\/\b\f\n\r\t""#, .string("\"\\/\u{8}\u{C}\n\r\t")),
            Read(#""\u0041\u00e9\u20AC""#, .string("Aé€")), Read(#""\uD83D\ude00""#, .string("😀")),
            Read(#""\u0000""#, .string("\0")),
            Read(
                "\"" + String(repeating: "a" + String(repeating: "\u{301}", count: 30), count: 9) + "\"",
                .string(String(repeating: "a" + String(repeating: "\u{301}", count: 30), count: 9))),
            Read(#""before\nafter, at some length""#, .string("before\nafter, at some length")),
            Read("[]", .array([])), Read("[ ]", .array([])),
            Read("[1,[2],\"3\"]", .array([.integer(1), .array([.integer(2)]), .string("3")])),
        ])
    func allowed(_ row: Read) throws {
        #expect(try JSONValue(parsing: Array(row.text.utf8)) == row.value)
    }

    @Test("An object's members are had by name, in the order of the text")
    func object() throws {
        let object = try #require(try JSONValue(parsing: Array(#"{ "b" : 1 , "a" : {"x":null} , "":[] }"#.utf8)).object)
        #expect(object.members.map(\.name) == ["b", "a", ""])
        #expect(object["b"]?.integer == 1)
        #expect(object["a"]?.object?["x"] == .null)
        #expect(object[""]?.array == [])
        #expect(object["c"] == nil)
    }

    struct Refused: Sendable, CustomTestStringConvertible {
        let bytes: [UInt8]
        let code: JSONSyntaxError.Code
        var testDescription: String { "\(String(decoding: bytes, as: UTF8.self)) (\(code.rawValue))" }

        init(_ text: String, _ code: JSONSyntaxError.Code) {
            self.init(bytes: Array(text.utf8), code)
        }

        init(bytes: [UInt8], _ code: JSONSyntaxError.Code) {
            self.bytes = bytes
            self.code = code
        }

        /// A string of these bytes.
        static func string(_ bytes: UInt8...) -> Refused {
            Refused(bytes: [0x22] + bytes + [0x22], .invalidUTF8)
        }
    }

    @Test(
        "A text that RFC 8259 does not allow is refused",
        arguments: [
            Refused("", .unexpectedEnd), Refused(" ", .unexpectedEnd), Refused("nul", .unexpectedEnd),
            Refused("nulL", .unexpectedByte), Refused("True", .unexpectedByte), Refused("NaN", .unexpectedByte),
            Refused("Infinity", .unexpectedByte), Refused("'a'", .unexpectedByte), Refused("// x\n1", .unexpectedByte),
            Refused("null x", .trailingBytes), Refused("{}{}", .trailingBytes), Refused("1 2", .trailingBytes),
            Refused("{}\u{0}", .trailingBytes), Refused("nullnull", .trailingBytes),
            Refused("{", .unexpectedEnd), Refused("{\"a\"", .unexpectedEnd), Refused("{\"a\":", .unexpectedEnd),
            Refused("{\"a\":1", .unexpectedEnd), Refused("{\"a\":1,", .unexpectedEnd),
            Refused("{\"a\":1,}", .unexpectedByte), Refused("{,}", .unexpectedByte), Refused("{a:1}", .unexpectedByte),
            Refused("{\"a\" 1}", .unexpectedByte), Refused("{\"a\":1 \"b\":2}", .unexpectedByte),
            Refused("{1:1}", .unexpectedByte), Refused("{\"a\":}", .unexpectedByte),
            Refused("[", .unexpectedEnd), Refused("[1", .unexpectedEnd), Refused("[1,", .unexpectedEnd),
            Refused("[1,]", .unexpectedByte), Refused("[,1]", .unexpectedByte), Refused("[1 2]", .unexpectedByte),
            Refused("[1}", .unexpectedByte), Refused("]", .unexpectedByte),
        ])
    func structure(_ row: Refused) {
        #expect(code(row.bytes) == row.code)
    }

    @Test(
        "Numbers must follow the grammar",
        arguments: [
            Refused("01", .trailingBytes), Refused("-01", .trailingBytes), Refused("+1", .unexpectedByte),
            Refused(".5", .unexpectedByte), Refused("1.", .unexpectedEnd), Refused("1.e1", .invalidNumber),
            Refused("1e", .unexpectedEnd), Refused("1e+", .unexpectedEnd), Refused("1ex", .invalidNumber),
            Refused("-", .unexpectedEnd), Refused("-x", .invalidNumber), Refused("--1", .invalidNumber),
            Refused("0x10", .trailingBytes), Refused("1_000", .trailingBytes),
            Refused("1e999", .invalidNumber), Refused("-1e999", .invalidNumber),
            Refused(String(repeating: "9", count: 65), .invalidNumber),
        ])
    func numbers(_ row: Refused) {
        #expect(code(row.bytes) == row.code)
    }

    @Test(
        "Strings must follow the grammar",
        arguments: [
            Refused("\"", .unexpectedEnd), Refused("\"abc", .unexpectedEnd), Refused("\"12345678", .unexpectedEnd),
            Refused("\"\\", .unexpectedEnd), Refused("\"\\\"", .unexpectedEnd), Refused(#""\x""#, .invalidEscape),
            Refused(#""\U0041""#, .invalidEscape), Refused(#""\u004""#, .invalidEscape),
            Refused(#""\u00g0""#, .invalidEscape),
            Refused("\"\\u00", .unexpectedEnd), Refused("\"a\nb\"", .controlCharacter),
            Refused("\"\0\"", .controlCharacter),
            Refused("\"1234567\u{1F}\"", .controlCharacter), Refused("\"12345678\t\"", .controlCharacter),
            Refused(#""\n\#u{1}""#, .controlCharacter),
            Refused(#""\ud800""#, .loneSurrogate), Refused(#""\udc00""#, .loneSurrogate),
            Refused(#""\ud800\ud800""#, .loneSurrogate),
            Refused(#""\ud800\n""#, .loneSurrogate), Refused(#""\ud800x""#, .loneSurrogate),
            Refused(#""\ude00\ud83d""#, .loneSurrogate),
            Refused("\"a\(String(repeating: "\u{301}\u{316}", count: 16))\"", .tooManyMarks),
            Refused("{\"a\(String(repeating: "\u{5B4}", count: 31))\":1}", .tooManyMarks),
            Refused("\"a\(String(repeating: "\\u0301", count: 31))\"", .tooManyMarks),
            Refused("\"\(String(repeating: "\u{301}", count: 31))\"", .tooManyMarks),
        ])
    func strings(_ row: Refused) {
        #expect(code(row.bytes) == row.code)
    }

    @Test(
        "Only UTF-8 is read",
        arguments: [
            Refused.string(0x80), .string(0xFF), .string(0xC0, 0x80), .string(0xC1, 0xBF), .string(0xE0, 0x80, 0x80),
            .string(0xED, 0xA0, 0x80), .string(0xF0, 0x80, 0x80, 0x80), .string(0xF4, 0x90, 0x80, 0x80),
            .string(0xE2, 0x82), .string(0x5C, 0x6E, 0xE2, 0x82),
            Refused(bytes: [0xEF, 0xBB, 0xBF] + Array("{}".utf8), .unexpectedByte),
            Refused(bytes: [0xFE, 0xFF, 0x00, 0x7B, 0x00, 0x7D], .unexpectedByte),
            Refused(bytes: [0x7B, 0x00, 0x7D, 0x00], .unexpectedByte),
        ])
    func encoding(_ row: Refused) {
        #expect(code(row.bytes) == row.code)
    }

    @Test(
        "A duplicate member name is refused, however it is written",
        arguments: [#"{"a":1,"a":1}"#, #"{"a":1,"b":2,"\u0061":3}"#, #"{"x":{"a":1,"a":2}}"#, #"{"":1,"":2}"#])
    func duplicates(_ text: String) {
        #expect(code(Array(text.utf8)) == .duplicateMember)
    }

    @Test("Names are told apart by their bytes, also where Unicode calls them equivalent", arguments: [1, 20])
    func equivalentNames(_ count: Int) throws {
        let others = (1..<count).map { "\"\($0)\":0," }.joined()
        let text = "{\(others)\"\u{E9}\":1,\"e\u{301}\":2,\"K\":3,\"\u{212A}\":4}"
        let object = try #require(try JSONValue(parsing: Array(text.utf8)).object)
        #expect(["\u{E9}", "e\u{301}", "K", "\u{212A}"].map { object[$0]?.integer } == [1, 2, 3, 4])
    }

    @Test("A duplicate name is refused among many members, too", arguments: [15, 16, 17, 5000])
    func duplicateAmongMany(_ count: Int) throws {
        let members = (0..<count).map { "\"member\($0)\":0" }
        let once = "{" + members.joined(separator: ",") + "}"
        #expect(try JSONValue(parsing: Array(once.utf8)).object?.members.count == count)
        for name in ["member0", "member\(count - 1)"] {
            #expect(code(Array((once.dropLast() + ",\"\(name)\":0}").utf8)) == .duplicateMember)
        }
    }

    @Test("Different objects may have the same name")
    func sameNameElsewhere() throws {
        #expect(throws: Never.self) { try JSONValue(parsing: Array(#"[{"a":{"a":1}},{"a":2}]"#.utf8)) }
    }

    @Test("Thirty-two levels are read, one more is refused; so are many thousands")
    func depth() throws {
        func nested(_ depth: Int) -> [UInt8] {
            [UInt8](repeating: UInt8(ascii: "["), count: depth) + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
        }
        #expect(throws: Never.self) { try JSONValue(parsing: nested(32)) }
        #expect(code(nested(33)) == .tooDeep)
        #expect(code([UInt8](repeating: UInt8(ascii: "["), count: 500_000)) == .tooDeep)
        #expect(code(Array(String(repeating: "{\"a\":", count: 100_000).utf8)) == .tooDeep)
    }

    @Test("A byte that is not UTF-8 is found at any place of a long string")
    func encodingInLongString() throws {
        for place in 0..<40 {
            var bytes = [UInt8](repeating: UInt8(ascii: "x"), count: 40)
            bytes[place] = 0xFF
            #expect(code([0x22] + bytes + [0x22]) == .invalidUTF8)
            #expect(code([0x22, 0x5C, 0x6E] + bytes + [0x22]) == .invalidUTF8)
            bytes[place] = 0x1F
            #expect(code([0x22] + bytes + [0x22]) == .controlCharacter)
        }
    }

    @Test("Siblings do not count as depth")
    func siblings() throws {
        let text = "[" + [String](repeating: "[]", count: 100).joined(separator: ",") + "]"
        #expect(try JSONValue(parsing: Array(text.utf8)).array?.count == 100)
    }

    @Test("Size and number of values are limited")
    func limits() {
        let text = Array("[1,2,3]".utf8)
        #expect(throws: Never.self) { try JSONValue(parsing: text, limits: JSONLimits(bytes: 7, values: 4)) }
        #expect(code(text, JSONLimits(bytes: 6)) == .tooLarge)
        #expect(code(text, JSONLimits(values: 3)) == .tooManyValues)
    }

    @Test("An error has the offset of the fault")
    func place() {
        #expect(throws: JSONSyntaxError.self) { try JSONValue(parsing: Array("[1,x]".utf8)) }
        do {
            _ = try JSONValue(parsing: Array(#"{"a":1,"a":2}"#.utf8))
        } catch {
            #expect(error.offset == 7)
        }
    }

    private func code(_ bytes: [UInt8], _ limits: JSONLimits = JSONLimits()) -> JSONSyntaxError.Code? {
        do {
            _ = try JSONValue(parsing: bytes, limits: limits)
            return nil
        } catch {
            return error.code
        }
    }
}
