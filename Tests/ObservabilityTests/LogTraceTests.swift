import Glibc
import Logging
import Observability
import Primitives
import Testing

/// `trace_id` in log lines.
@Suite struct LogTraceTests {
    @Test("A line within a trace has the trace id, and any other line has none")
    func traceID() throws {
        var ends: [Int32] = [0, 0]
        #expect(Glibc.pipe(&ends) == 0)
        let sink = LogSink(descriptor: ends[1])
        var handler = StructuredLogHandler(label: "test", threshold: LogThreshold(.info), format: .text, sink: sink)
        handler.metadataProvider = .ofTrace
        let logger = Logger(label: "test") { [handler] _ in handler }
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        let context = try #require(TraceContext(traceparent: "00-\(trace)-00f067aa0ba902b7-01"))
        logger.info("without")
        TraceContext.$current.withValue(context) { logger.info("within", metadata: ["a": "b"]) }
        sink.flush()
        close(ends[1])
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &buffer, buffer.count)
        close(ends[0])
        let lines = String(decoding: buffer[..<max(0, count)], as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasSuffix("info without") == true)
        #expect(lines.last?.hasSuffix("info within a=b trace_id=\(trace)") == true)
    }
}
