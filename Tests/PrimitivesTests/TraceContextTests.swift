import Primitives
import Testing

/// W3C Trace Context.
@Suite struct TraceContextTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let span = "00f067aa0ba902b7"

    @Test(
        "A good field is read",
        arguments: [
            ("00-\(trace)-\(span)-01", true), ("00-\(trace)-\(span)-00", false), ("00-\(trace)-\(span)-03", true),
            ("00-\(trace)-\(span)-ff", true), ("00-\(trace)-\(span)-fe", false), ("cc-\(trace)-\(span)-01", true),
            ("cc-\(trace)-\(span)-01-more", true), ("01-\(trace)-\(span)-01-", true),
        ])
    func good(text: String, isSampled: Bool) throws {
        let context = try #require(TraceContext(traceparent: text))
        #expect(context.traceID == Self.trace)
        #expect(context.spanID == Self.span)
        #expect(context.isSampled == isSampled)
        #expect(context.traceparent == "00-\(Self.trace)-\(Self.span)-\(isSampled ? "01" : "00")")
    }

    @Test(
        "Any other text is not one",
        arguments: [
            "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-",
            "00-\(trace)-\(span)-01-more", "00-\(trace)-\(span)-011", "cc-\(trace)-\(span)-01more",
            "ff-\(trace)-\(span)-01", "0x-\(trace)-\(span)-01", "00-\(trace.uppercased())-\(span)-01",
            "00-\(trace)-\(span.uppercased())-01", "00-\(trace)-\(span)-0G", "00-\(trace)-\(span)-0A",
            "00-00000000000000000000000000000000-\(span)-01", "00-\(trace)-0000000000000000-01",
            " 00-\(trace)-\(span)-01", "00_\(trace)_\(span)_01", "00-\(trace)é-\(span)-01",
        ])
    func bad(text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    @Test("A new trace has ids that are not zero, and is recorded if the bytes of its id say so")
    func root() {
        for isSampled in [true, false] {
            let zeros = RandomSource { [UInt8](repeating: 0, count: $0) }
            let root = TraceContext.root(zeros) { id in
                #expect(id == [1] + [UInt8](repeating: 0, count: 15))
                return isSampled
            }
            #expect(root.traceID == "01" + String(repeating: "0", count: 30))
            #expect(root.spanID == "01" + String(repeating: "0", count: 14))
            #expect(root.isSampled == isSampled)
            #expect(TraceContext(traceparent: root.traceparent) == root)
        }
    }

    @Test("A child is another span of the same trace, and its id is never only zeros")
    func child() throws {
        let context = try #require(TraceContext(traceparent: "00-\(Self.trace)-\(Self.span)-01"))
        let child = context.child()
        #expect(child.traceID == Self.trace)
        #expect(child.spanID != Self.span)
        #expect(child.isSampled)
        #expect(TraceContext(traceparent: child.traceparent) == child)
        let zero = context.child(RandomSource { [UInt8](repeating: 0, count: $0) })
        #expect(TraceContext(traceparent: zero.traceparent) != nil)
    }
}
