import Primitives
import TelemetryExport
import Testing

/// The rules of OpenTelemetry's protocol over HTTP for responses.
@Suite struct ReceiverResponseTests {
    /// 2027-01-15T08:00:00Z
    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)

    private func response(_ status: Int, _ retryAfter: String? = nil, _ body: String = "") -> ReceiverResponse {
        ReceiverResponse(status: status, retryAfter: retryAfter, body: Array(body.utf8), now: Self.now)
    }

    @Test(
        "A success may reject a part",
        arguments: [
            ("", 0), ("{}", 0), ("not JSON", 0), (#"{"partialSuccess":{}}"#, 0),
            (#"{"partialSuccess":{"rejectedSpans":"3"}}"#, 3),
            (#"{"partialSuccess":{"rejectedSpans":4}}"#, 4), (#"{"partialSuccess":{"rejectedDataPoints":"5"}}"#, 5),
            (#"{"partialSuccess":{"rejectedSpans":"-3"}}"#, 0), (#"{"partialSuccess":{"rejectedSpans":"x"}}"#, 0),
        ])
    func success(body: String, rejected: Int) {
        for status in [200, 202, 204] { #expect(response(status, nil, body) == .accepted(rejected: rejected)) }
    }

    @Test("Only 429, 502, 503 and 504 ask for another try")
    func status() {
        for status in 300..<600 {
            let reason = "the receiver answered \(status)"
            #expect(
                response(status)
                    == ([429, 502, 503, 504].contains(status)
                        ? .unavailable(retryAfter: nil, reason: reason) : .refused(reason: reason)))
        }
    }

    @Test(
        "Retry-After is seconds or a date, at most five minutes, and ignored if it is neither",
        arguments: [
            ("0", 0), ("7", 7), ("300", 300), ("301", 300), ("99999999999999999999", 300), ("-1", nil), ("soon", nil),
            ("", nil),
            ("Fri, 15 Jan 2027 08:00:30 GMT", 30), ("Fri, 15 Jan 2027 07:00:00 GMT", 0),
            ("Fri, 15 Jan 2077 08:00:00 GMT", 300),
        ] as [(String, Int?)])
    func retryAfter(text: String, seconds: Int?) {
        #expect(
            response(503, text)
                == .unavailable(
                    retryAfter: seconds.map { .seconds($0) }, reason: "the receiver answered 503"))
    }
}
