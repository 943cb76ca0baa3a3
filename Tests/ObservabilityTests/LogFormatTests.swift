import Logging
import Observability
import Primitives
import Testing

@Suite struct LogFormatTests {
    private func line(_ format: LogFormat, _ message: String, _ metadata: [(String, String)] = []) -> String {
        let bytes = format.line(
            at: Timestamp(secondsSinceEpoch: 1_795_222_923), level: .warning, label: "latchkey", message: message,
            metadata: metadata)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("A line for people has time, level, message and metadata")
    func text() {
        let text = line(.text, "signed in", [("carrier", "310010")])
        #expect(text == "2026-11-21T01:02:03Z warn signed in carrier=310010")
    }

    @Test("A line for programs is one JSON object")
    func json() {
        #expect(
            line(.json, "signed in", [("carrier", "310010")])
                == #"{"time":"2026-11-21T01:02:03Z","level":"warn","message":"signed in","logger":"latchkey","carrier":"310010"}"#
        )
    }

    @Test("Nothing in a message or in metadata makes a second line", arguments: LogFormat.allCases)
    func injection(format: LogFormat) {
        let text = line(format, "a\nb\u{1B}[2J", [("x", "1\r\nlevel=error"), ("time", "0")])
        #expect(!text.utf8.contains(UInt8(ascii: "\n")))
        #expect(!text.utf8.contains(UInt8(ascii: "\r")))
        #expect(!text.utf8.contains(0x1B))
    }

    @Test("A value with spaces or quotation marks stands between quotation marks")
    func quoting() {
        #expect(line(.text, "m", [("a", "b c"), ("d", "e\"f"), ("g", "")]).hasSuffix(#" m a="b c" d="e'f" g="""#))
    }

    @Test(
        "A moment is written in UTC",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"), (253_402_300_799, "9999-12-31T23:59:59Z"),
            (Int64.max, "9999-12-31T23:59:59Z"), (Int64.min, "0000-01-01T00:00:00Z"),
        ] as [(Int64, String)])
    func utc(seconds: Int64, text: String) {
        #expect(UTCTime.text(Timestamp(secondsSinceEpoch: seconds)) == text)
    }

    @Test(
        "A moment's text is read back, and so is a day",
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2000-02-29", 951_782_400), ("1969-12-31T23:59:59Z", -1),
            ("2100-02-28T23:59:59Z", 4_107_542_399), ("0000-01-01", -62_167_219_200),
        ] as [(String, Int64)])
    func moment(text: String, seconds: Int64) {
        #expect(UTCTime.moment(text) == Timestamp(secondsSinceEpoch: seconds))
    }

    @Test(
        "What is no moment is none",
        arguments: [
            "", "T", "2100-02-29", "2026-13-01", "2026-00-10", "2026-11-31", "2026-11-21T24:00:00Z",
            "2026-11-21T01:60:00Z", "2026-11-21T01:02:60Z", "2026-11-21T01:02:03", "2026-11-21T",
            "2026-11-21 01:02:03Z",
            "26-11-21", "+026-11-21", "2026-11-21T01:02:03+00:00", "２026-11-21",
        ])
    func noMoment(text: String) {
        #expect(UTCTime.moment(text) == nil)
    }

    @Test("A secret in metadata prints as redacted")
    func redaction() {
        #expect(!line(.text, "m", [("key", "\(Secret("hunter2"))")]).contains("hunter2"))
    }
}
