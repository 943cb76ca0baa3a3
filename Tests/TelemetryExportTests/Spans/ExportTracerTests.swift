import Primitives
import Synchronization
import TelemetryExport
import Testing
import Tracing

@Suite struct ExportTracerTests {
    private final class Kept: Sendable {
        let spans = Mutex<[SpanRecord]>([])
        var all: [SpanRecord] { spans.withLock { $0 } }
    }

    private struct Fields: Extractor, Injector {
        func extract(key: String, from fields: [String: String]) -> String? { fields[key] }
        func inject(_ value: String, forKey key: String, into fields: inout [String: String]) { fields[key] = value }
    }

    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    private func tracer(ratio: Double, _ kept: Kept, random: RandomSource = .system) -> ExportTracer {
        ExportTracer(ratio: ratio, random: random) { span in
            kept.spans.withLock { $0.append(span) }
        }
    }

    @Test("Spans of a caller's trace follow its flag, whatever the ratio", arguments: [("01", 0.0), ("00", 1)])
    func flag(flag: String, ratio: Double) {
        let kept = Kept()
        let tracer = tracer(ratio: ratio, kept)
        var context = InstrumentationContext.topLevel
        tracer.extract(
            ["traceparent": "00-\(Self.trace)-\(Self.span)-\(flag)", "tracestate": "a=b", "baggage": "c=d"],
            into: &context, using: Fields())
        tracer.withSpan("outer", context: context, ofKind: .server) { outer in
            var sent: [String: String] = [:]
            tracer.inject(outer.context, into: &sent, using: Fields())
            #expect(Array(sent.keys) == ["traceparent"])
            #expect(sent["traceparent"]?.hasPrefix("00-\(Self.trace)-") == true)
            #expect(sent["traceparent"]?.hasSuffix("-\(flag)") == true)
            tracer.startSpan("inner").end()
        }
        guard flag == "01" else {
            #expect(kept.all.isEmpty)
            return
        }
        #expect(kept.all.map(\.name) == ["inner", "outer"])
        #expect(kept.all.allSatisfy { $0.traceID == Self.trace })
        #expect(kept.all.last?.parentSpanID == Self.span)
        #expect(kept.all.first?.parentSpanID == kept.all.last?.spanID)
        #expect(kept.all.first?.spanID != kept.all.last?.spanID)
    }

    @Test(
        "Without a caller the last seven bytes of the trace id decide",
        arguments: [
            (0.0, 0x00, false), (1, 0xff, true), (0.5, 0x7f, true), (0.5, 0x80, false), (0.01, 0x02, true),
            (0.01, 0x03, false),
            (-1, 0x00, false), (2, 0xff, true),
        ] as [(Double, UInt8, Bool)])
    func ratio(ratio: Double, first: UInt8, isRecorded: Bool) {
        #expect(
            tracer(ratio: ratio, Kept()).records([UInt8](repeating: 0xff, count: 9) + [first, 0, 0, 0, 0, 0, 0])
                == isRecorded)
    }

    @Test("A new trace has no parent, and an id that is not zero")
    func root() {
        let kept = Kept()
        tracer(ratio: 1, kept, random: RandomSource { [UInt8](repeating: 0, count: $0) }).startSpan("a").end()
        #expect(kept.all.first?.traceID == "01" + String(repeating: "0", count: 30))
        #expect(kept.all.first?.spanID == "01" + String(repeating: "0", count: 14))
        #expect(kept.all.first?.parentSpanID == nil)
    }

    @Test("A span is kept once, with its attributes, its error, and times that do not run back")
    func whole() {
        struct Broken: Error {}
        let kept = Kept()
        let tracer = tracer(ratio: 1, kept)
        let start = DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 50)
        let span = tracer.startSpan("before", ofKind: .client, at: start)
        span.operationName = "after"
        span.updateAttributes { attributes in
            attributes["b"] = 7
            attributes["a"] = "text"
            attributes["c"] = true
        }
        span.addEvent(SpanEvent(name: "EVENT"))
        span.recordError(Broken())
        span.setStatus(SpanStatus(code: .error, message: "MESSAGE"))
        #expect(span.isRecording)
        span.end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: 40))
        span.end()
        #expect(!span.isRecording)
        #expect(kept.all.count == 1)
        let record = kept.all.first
        #expect(record?.name == "after" && record?.kind == .client && record?.isError == true)
        #expect(record?.start == 50 && record?.end == 50)
        #expect(record?.attributes == ["a": "text", "b": .int64(7), "c": true, "error.type": "Broken"])
    }
}
