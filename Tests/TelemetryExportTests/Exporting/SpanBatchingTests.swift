import Primitives
import Testing

@testable import TelemetryExport

/// When which spans are exported, and what becomes of them. Without randomness, retries wait for the whole step.
@Suite struct SpanBatchingTests {
    private static let random = RandomSource { [UInt8](repeating: 0xff, count: $0) }
    private static let unavailable = ReceiverResponse.unavailable(retryAfter: nil, reason: "")

    private func batching(waiting: Int = 8, batch: Int = 3, attempts: Int = 5) -> SpanBatching {
        var limits = SpanBatching.Limits()
        limits.waiting = waiting
        limits.batch = batch
        limits.attempts = attempts
        limits.delay = .seconds(5)
        return SpanBatching(limits, timeout: .seconds(10))
    }

    /// `send a,b in 10`, `wait 5`, `wait` or `end`, with the time in seconds.
    private func next(_ batching: inout SpanBatching, at seconds: Int) -> String {
        switch batching.next(at: .seconds(seconds)) {
        case .send(let spans, let timeout):
            "send \(spans.map(\.name).joined(separator: ",")) in \(timeout.components.seconds)"
        case .wait(let time): time.map { "wait \($0.components.seconds)" } ?? "wait"
        case .end: "end"
        }
    }

    private func add(_ names: String..., to batching: inout SpanBatching, at seconds: Int) -> [Bool] {
        names.map { batching.add(.named($0), at: .seconds(seconds)) }
    }

    private func finish(_ response: ReceiverResponse, _ batching: inout SpanBatching, at seconds: Int) {
        batching.finish(response, at: .seconds(seconds), Self.random)
    }

    @Test("Few spans wait for others, and a full batch does not wait; the exporter is woken for both")
    func batches() {
        var spans = batching()
        #expect(next(&spans, at: 0) == "wait")
        #expect(add("a", "b", to: &spans, at: 1) == [true, false])
        #expect(next(&spans, at: 2) == "wait 4")
        #expect(next(&spans, at: 6) == "send a,b in 10")
        finish(.accepted(rejected: 0), &spans, at: 6)
        #expect(add("c", "d", "e", "f", to: &spans, at: 7) == [true, false, true, false])
        #expect(next(&spans, at: 7) == "send c,d,e in 10")
        finish(.accepted(rejected: 1), &spans, at: 8)
        #expect(next(&spans, at: 9) == "wait 3")
        #expect(next(&spans, at: 12) == "send f in 10")
        finish(.accepted(rejected: 9), &spans, at: 12)
        #expect(next(&spans, at: 12) == "wait")
        #expect(spans.counts.exported == 4 && spans.counts.refused == 2 && spans.waiting == 0)
    }

    @Test("An export that failed is sent again after growing delays, then dropped; the receiver's delay counts")
    func retries() {
        var spans = batching(attempts: 3)
        _ = add("a", "b", "c", "d", to: &spans, at: 0)
        #expect(next(&spans, at: 0) == "send a,b,c in 10")
        finish(Self.unavailable, &spans, at: 1)
        #expect(next(&spans, at: 1) == "wait 1")
        #expect(next(&spans, at: 2) == "send a,b,c in 10")
        finish(.unavailable(retryAfter: .seconds(40), reason: ""), &spans, at: 2)
        #expect(next(&spans, at: 3) == "wait 39")
        #expect(next(&spans, at: 42) == "send a,b,c in 10")
        finish(Self.unavailable, &spans, at: 42)
        #expect(spans.counts.failed == 3 && spans.waiting == 1)
        #expect(next(&spans, at: 43) == "wait 3")
        #expect(next(&spans, at: 46) == "send d in 10")
        finish(.accepted(rejected: 0), &spans, at: 46)
        #expect(spans.counts.exported == 1)
        _ = add("e", "f", "g", to: &spans, at: 47)
        #expect(next(&spans, at: 47) == "send e,f,g in 10", "the delay ends with a success")
    }

    @Test("A refused export is dropped, and the next one has a delay")
    func refusal() {
        var spans = batching()
        _ = add("a", "b", "c", "d", "e", "f", to: &spans, at: 0)
        #expect(next(&spans, at: 0) == "send a,b,c in 10")
        finish(.refused(reason: ""), &spans, at: 0)
        #expect(spans.counts.refused == 3)
        #expect(next(&spans, at: 0) == "wait 1")
        #expect(next(&spans, at: 1) == "send d,e,f in 10")
        finish(.refused(reason: ""), &spans, at: 1)
        #expect(next(&spans, at: 1) == "wait")
    }

    @Test("While an export hangs, new spans take the places of the oldest, and no more are kept than the limits")
    func bound() {
        var spans = batching(waiting: 4, batch: 3)
        _ = add("a", "b", "c", to: &spans, at: 0)
        #expect(next(&spans, at: 0) == "send a,b,c in 10")
        for number in 0..<1000 {
            _ = add("\(number)", to: &spans, at: 1)
            #expect(spans.waiting <= 7)
        }
        #expect(spans.counts.displaced == 996)
        finish(.accepted(rejected: 0), &spans, at: 10)
        #expect(next(&spans, at: 10) == "send 996,997,998 in 10")
        finish(.accepted(rejected: 0), &spans, at: 10)
        #expect(next(&spans, at: 15) == "send 999 in 10")
        finish(.accepted(rejected: 0), &spans, at: 15)
        #expect(spans.counts.exported == 7 && spans.waiting == 0)
    }

    @Test("At the end all that waits is sent at once, within the rest of the time")
    func end() {
        var spans = batching()
        _ = add("a", "b", "c", "d", to: &spans, at: 0)
        #expect(next(&spans, at: 0) == "send a,b,c in 10")
        finish(Self.unavailable, &spans, at: 0)
        spans.stop(by: .seconds(3))
        #expect(next(&spans, at: 0) == "send a,b,c in 3")
        finish(.accepted(rejected: 0), &spans, at: 1)
        #expect(next(&spans, at: 1) == "send d in 2")
        finish(.accepted(rejected: 0), &spans, at: 1)
        #expect(next(&spans, at: 1) == "end")
        #expect(spans.counts.exported == 4)
    }

    @Test(
        "At the end nothing is tried again, or after the time; what is left is counted",
        arguments: [(unavailable, 7), (.refused(reason: ""), 4)] as [(ReceiverResponse, UInt64)])
    func lost(response: ReceiverResponse, unsent: UInt64) {
        var spans = batching()
        _ = add("a", "b", "c", "d", "e", "f", "g", to: &spans, at: 0)
        spans.stop(by: .seconds(3))
        #expect(next(&spans, at: 0) == "send a,b,c in 3")
        finish(response, &spans, at: 0)
        #expect(next(&spans, at: 0) == "end")
        #expect(spans.counts.unsent == unsent && spans.waiting == 0)
        var late = batching()
        _ = add("a", to: &late, at: 0)
        late.stop(by: .seconds(3))
        #expect(next(&late, at: 3) == "end")
        #expect(late.counts.unsent == 1)
    }
}
