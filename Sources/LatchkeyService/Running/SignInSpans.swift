import OpenIDConnect
import Primitives
import SignIn
import Tracing

/// Records the steps of a sign-in as spans of the request, when the sign-in has ended.
struct SignInSpans: Sendable {
    let tracer: any Tracer

    func record(_ report: SignInReport) {
        guard TraceContext.current?.isSampled == true else { return }
        record(report, endedAt: DefaultTracerClock.now.nanosecondsSinceEpoch, with: tracer)
    }

    private func record(_ report: SignInReport, endedAt now: UInt64, with tracer: some Tracer) {
        let began = now - min(now, report.nanoseconds)
        for time in report.steps {
            let span = tracer.startSpan(
                "\(report.kind.rawValue) \(time.step.rawValue)", ofKind: .internal, at: instant(began + time.start))
            let hasFailed = time.step == report.failedStep
            span.updateAttributes { attributes in
                attributes["latchkey.step"] = time.step.rawValue
                if let provider = report.provider { attributes["latchkey.provider"] = provider }
                if let network = report.network { attributes["latchkey.mccmnc"] = network.text }
                if hasFailed { attributes["error.type"] = report.outcome.name }
                if hasFailed, let check = report.check { attributes["latchkey.check"] = check.rawValue }
            }
            if hasFailed { span.setStatus(SpanStatus(code: .error)) }
            span.end(at: instant(began + time.end))
        }
    }

    private func instant(_ nanoseconds: UInt64) -> DefaultTracerClock.Timestamp {
        DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: nanoseconds)
    }
}
