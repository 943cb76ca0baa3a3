import Primitives
import Testing
import Tracing

@testable import TelemetryExport

/// The JSON of `ExportTraceServiceRequest`.
@Suite struct TraceExportTests {
    private static let resource = TelemetryResource(
        serviceName: "login \"1\"", version: "1.2", random: RandomSource { [UInt8](repeating: 0xab, count: $0) })

    private static let head =
        #"{"resourceSpans":[{"resource":{"attributes":["#
        + #"{"key":"service.name","value":{"stringValue":"login \"1\""}},"#
        + #"{"key":"service.version","value":{"stringValue":"1.2"}},"#
        + #"{"key":"service.instance.id","value":{"stringValue":"abababababababababababababababab"}}]},"#
        + #""scopeSpans":[{"scope":{"name":"latchkey","version":"1.2"},"spans":["#

    private func body(_ spans: [SpanRecord]) -> String {
        String(decoding: Self.resource.body(spans), as: UTF8.self)
    }

    @Test("A span has its ids in hexadecimal digits, times as strings, and its kind and status as numbers")
    func whole() {
        let span = SpanRecord(
            traceID: "4bf92f3577b34da6a3ce929d0e0e4736", spanID: "00f067aa0ba902b7", parentSpanID: "b7ad6b7169203331",
            name: "POST /a", kind: .server, start: 1_800_000_000_000_000_001, end: .max,
            attributes: [
                "a": "x\n", "b": .int64(-9_007_199_254_740_993), "c": 0.5, "d": true, "e": .double(.infinity),
                "f": .double(-.infinity), "g": .double(.nan),
            ], isError: true)
        #expect(
            body([span]) == Self.head
                + #"{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","#
                + #""parentSpanId":"b7ad6b7169203331","name":"POST /a","kind":2,"#
                + #""startTimeUnixNano":"1800000000000000001","endTimeUnixNano":"18446744073709551615","#
                + #""attributes":[{"key":"a","value":{"stringValue":"x\u000a"}},"#
                + #"{"key":"b","value":{"intValue":"-9007199254740993"}},"#
                + #"{"key":"c","value":{"doubleValue":0.5}},{"key":"d","value":{"boolValue":true}},"#
                + #"{"key":"e","value":{"doubleValue":"Infinity"}},{"key":"f","value":{"doubleValue":"-Infinity"}},"#
                + #"{"key":"g","value":{"doubleValue":"NaN"}}],"status":{"code":2}}]}]}]}"#)
    }

    @Test("What a span does not have is left out; each kind has its number")
    func bare() {
        let kinds: [(SpanKind, Int)] = [
            (.internal, 1), (.server, 2), (.client, 3), (.producer, 4), (.consumer, 5),
        ]
        let spans = kinds.map { kind, _ in
            SpanRecord(
                traceID: "4bf92f3577b34da6a3ce929d0e0e4736", spanID: "00f067aa0ba902b7", parentSpanID: nil, name: "n",
                kind: kind, start: 1, end: 2)
        }
        let texts = kinds.map { _, number in
            #"{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00f067aa0ba902b7","name":"n","#
                + #""kind":\#(number),"startTimeUnixNano":"1","endTimeUnixNano":"2"}"#
        }
        #expect(body(spans) == Self.head + texts.joined(separator: ",") + "]}]}]}")
    }
}
