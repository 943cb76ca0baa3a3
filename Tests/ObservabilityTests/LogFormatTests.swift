import Logging
import Observability
import Primitives
import Testing

@Suite struct LogFormatTests {
    private func line(_ format: LogFormat, _ message: String, _ metadata: [(String, String)] = []) -> String {
        let bytes = format.line(
            at: Timestamp(secondsSinceEpoch: 1_795_222_923), level: .warning, label: "latchkey", message: message,
            metadata: metadata.map { ($0.0, .text($0.1)) })
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("A text line has time, level, message and metadata")
    func text() {
        let text = line(.text, "signed in", [("carrier", "310010")])
        #expect(text == "2026-11-21T01:02:03Z warn signed in carrier=310010")
    }

    @Test("A JSON line is one object")
    func json() {
        #expect(
            line(.json, "signed in", [("carrier", "310010")])
                == #"{"time":"2026-11-21T01:02:03Z","level":"warn","message":"signed in","logger":"latchkey","#
                + #""carrier":"310010"}"#
        )
    }

    @Test("Numbers are numbers in JSON, and texts of digits are texts")
    func numbers() {
        let values: [(Logger.MetadataValue, text: String, json: String)] = [
            (.stringConvertible(200), "200", "200"), (.stringConvertible(-1), "-1", "-1"),
            (.stringConvertible(UInt64.max), "18446744073709551615", "18446744073709551615"),
            (.stringConvertible(12.5), "12.5", "12.5"), (.stringConvertible(3.0), "3.0", "3.0"),
            (.stringConvertible(Double.nan), "nan", #""nan""#), ("200", "200", #""200""#),
            ("310010", "310010", #""310010""#),
            (.stringConvertible("7"), "7", #""7""#),
        ]
        for (value, text, json) in values {
            func line(_ format: LogFormat) -> String {
                String(
                    decoding: format.line(
                        at: Timestamp(secondsSinceEpoch: 0), level: .info, label: "l", message: "m",
                        metadata: [("n", LogValue(value))]), as: UTF8.self)
            }
            #expect(line(.text).hasSuffix(" m n=\(text)"))
            #expect(line(.json).hasSuffix(#","n":\#(json)}"#), "\(line(.json))")
        }
    }

    @Test("A message or metadata cannot start a second line", arguments: LogFormat.allCases)
    func injection(format: LogFormat) {
        let text = line(format, "a\nb\u{1B}[2J", [("x", "1\r\nlevel=error"), ("time", "0")])
        #expect(!text.utf8.contains(UInt8(ascii: "\n")))
        #expect(!text.utf8.contains(UInt8(ascii: "\r")))
        #expect(!text.utf8.contains(0x1B))
    }

    @Test("A value that is empty, or has spaces or quotation marks, is quoted")
    func quoting() {
        #expect(line(.text, "m", [("a", "b c"), ("d", "e\"f"), ("g", "")]).hasSuffix(#" m a="b c" d="e'f" g="""#))
    }

    @Test("A secret in metadata prints as redacted")
    func redaction() {
        #expect(!line(.text, "m", [("key", "\(Secret("hunter2"))")]).contains("hunter2"))
    }
}
