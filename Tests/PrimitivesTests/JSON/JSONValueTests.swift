import Primitives
import Testing

struct JSONValueTests {
    @Test("A member is found by its whole name, also among names with the same length, beginning and end")
    func member() throws {
        let names = [
            "", "a", "b", "abc", "abd", "abcd", "abcde", "abcdefg", "abcdefgh", "post_1_code", "post_2_code",
            "post_1_code_post", "post_2_code_post", "beginning_1_ending", "beginning_2_ending", "\u{e9}", "e\u{e9}",
        ]
        let text = names.enumerated().map { "\"\($1)\":\($0)" }.joined(separator: ",")
        let object = try #require(try JSONValue(parsing: Array("{\(text)}".utf8)).object)
        #expect(names.map { object[$0]?.integer } == names.indices.map { Optional(Int64($0)) })
        for missing in ["post_3_code", "abcf", "c", "post_1_coda", "bcdefg", "beginning_3_ending"] {
            #expect(object[missing] == nil, "\(missing)")
        }
    }

    @Test(
        "A whole number is an integer, however it is written",
        arguments: [
            ("1600000000", 1_600_000_000), ("1.6e9", 1_600_000_000), ("1600000000.0", 1_600_000_000),
            ("16E8", 1_600_000_000),
            ("-3.0", -3), ("9007199254740992.0", 9_007_199_254_740_992), ("9223372036854775807", Int64.max),
        ])
    func whole(_ text: String, _ value: Int64) throws {
        #expect(try JSONValue(parsing: Array(text.utf8)).integer == value)
    }

    @Test(
        "A number that is not whole, or not exactly representable, is not an integer",
        arguments: [
            "1.5", "1e300", "-1e300", "9223372036854775808", "9007199254740994.0", "1e-5", "\"1\"", "true", "null",
            String(repeating: "9", count: 64),
        ])
    func notWhole(_ text: String) throws {
        #expect(try JSONValue(parsing: Array(text.utf8)).integer == nil)
    }

    @Test("Each kind of value is read only as that kind")
    func kinds() {
        let values: [JSONValue] = [.null, .bool(true), .integer(1), .number(0.5), .string("x"), .array([.null])]
        #expect(values.map(\.isNull) == [true, false, false, false, false, false])
        #expect(values.map(\.bool) == [nil, true, nil, nil, nil, nil])
        #expect(values.map(\.double) == [nil, nil, 1, 0.5, nil, nil])
        #expect(values.map(\.string) == [nil, nil, nil, nil, "x", nil])
        #expect(values.map(\.array) == [nil, nil, nil, nil, nil, [.null]])
        #expect(values.allSatisfy { $0.object == nil })
    }
}

struct JSONValueTextTests {
    @Test(
        "A value that was read is written unchanged",
        arguments: [
            "null", "true", "-7", "9007199254740993", "0.5", #""a\"\\\u000a é""#, "[]", "{}",
            #"{"b":[1,{"a":null}],"a":"x"}"#,
        ])
    func text(json: String) throws {
        #expect(try JSONValue(parsing: Array(json.utf8)).text == json)
    }

    @Test(
        "A text for terminals has no character that controls one, and is the same value",
        arguments: [
            ("a\u{9B}31m", #""a\u009b31m""#), ("\u{7F}", #""\u007f""#), ("\u{202E}x\u{2066}", #""\u202ex\u2066""#),
            ("\u{2028}", #""\u2028""#), ("\u{E0001}", #""\udb40\udc01""#), ("é ‹ 😀\n", #""é ‹ 😀\u000a""#),
        ])
    func terminal(text: String, json: String) throws {
        let value = JSONValue.object(of: [(text, .string(text))])
        #expect(value.terminalText == "{\(json):\(json)}")
        #expect(try JSONValue(parsing: Array(value.terminalText.utf8)) == value)
    }
}
