import Primitives
import Testing

struct JSONObjectWriterTests {
    @Test("Members of every kind are written in order")
    func members() {
        var writer = JSONObjectWriter()
        writer.add("text", "a")
        writer.add("number", -12)
        writer.add("digit", 7)
        writer.add("smallest", Int64.min)
        writer.add("flag", true)
        writer.add("texts", ["x", "y"])
        writer.add("none", orNull: nil)
        writer.add("left out", ifPresent: nil)
        writer.add("empty", object: { _ in })
        writer.add("inner") { inner in
            inner.add("a", 1)
            inner.add("b", object: { $0.add("c", 2) })
        }
        writer.add("last", false)
        #expect(
            String(decoding: writer.finish(), as: UTF8.self)
                == #"{"text":"a","number":-12,"digit":7,"smallest":-9223372036854775808,"flag":true,"texts":["x","y"],"#
                + #""none":null,"empty":{},"inner":{"a":1,"b":{"c":2}},"last":false}"#)
    }

    @Test("An object without members is written")
    func empty() {
        #expect(JSONObjectWriter().finish() == Array("{}".utf8))
    }

    @Test(
        "Any text reads back unchanged",
        arguments: [
            "", "plain", "\"quoted\"", "back\\slash", "\\", "\"", "line\nend\r\ttab", "\u{0}\u{1}\u{1F}", "é€😀",
            "\u{7F}",
            "</script>", "a\"b\\c\nd", "\u{2028}",
        ])
    func roundTrip(_ text: String) throws {
        var writer = JSONObjectWriter()
        writer.add("text", text)
        #expect(try JSONValue(parsing: writer.finish()).object?["text"]?.string == text)
    }

    @Test("Numbers have all their digits", arguments: [0, 9, 10, -1, 1_800_000_000, Int64.min, Int64.max])
    func numbers(_ number: Int64) {
        var json = JSONObjectWriter()
        json.add("n", number)
        #expect(String(decoding: json.finish(), as: UTF8.self) == "{\"n\":\(number)}")
    }

    @Test("An array of objects is written, also an empty one, and what follows it")
    func objects() throws {
        var json = JSONObjectWriter()
        json.add("none", objects: [Int]()) { _, _ in }
        json.add("some", objects: [1, 2]) { number, json in
            json.add("n", number)
            json.add("m", "x")
        }
        json.add("end", true)
        let text = String(decoding: json.finish(), as: UTF8.self)
        #expect(text == #"{"none":[],"some":[{"n":1,"m":"x"},{"n":2,"m":"x"}],"end":true}"#)
    }
}
