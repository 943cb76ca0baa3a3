import OutboundHTTP
import Primitives
import Testing

/// What becomes of an exchange, by what its connection receives.
struct ExchangeMachineTests {
    enum Step: Sendable {
        case receive(String)
        case end
        case fail(_ reason: String? = nil)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]
        let outcome: ExchangeMachine.Step

        init(_ name: String, _ steps: [Step], _ outcome: ExchangeMachine.Step) {
            testDescription = name
            self.steps = steps
            self.outcome = outcome
        }
    }

    /// Only the last step has an outcome.
    private func check(_ row: Row, _ awaited: ExchangeMachine.Awaited) {
        var machine = ExchangeMachine(awaited, bodyBytes: 100)
        for (index, step) in row.steps.enumerated() {
            let outcome =
                switch step {
                case .receive(let text): machine.receive(text.utf8.span)
                case .end: machine.inputEnded()
                case .fail(let reason): machine.connectionFailed(reason)
                }
            #expect(outcome == (index == row.steps.count - 1 ? row.outcome : .wait))
        }
    }

    private static func whole(_ status: Int, _ body: String = "", reusable: Bool) -> ExchangeMachine.Step {
        .complete(OutboundResponse(status: status, body: Array(body.utf8)), isReusable: reusable)
    }

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"

    @Test(
        "A response is complete, or it is not",
        arguments: [
            Row("whole", [.receive(ok + "ab")], whole(200, "ab", reusable: true)),
            Row("in pieces", [.receive(ok), .receive("a"), .receive("b")], whole(200, "ab", reusable: true)),
            Row("something follows", [.receive(ok + "abc")], whole(200, "ab", reusable: false)),
            Row(
                "the server closes", [.receive("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")],
                whole(200, reusable: false)),
            Row(
                "the end is the end of the content", [.receive("HTTP/1.1 200 OK\r\n\r\nab"), .end],
                whole(200, "ab", reusable: false)),
            Row("204", [.receive("HTTP/1.1 204 No Content\r\n\r\n")], whole(204, reusable: true)),
            Row(
                "after an interim response", [.receive("HTTP/1.1 103 Early Hints\r\n\r\n"), .receive(ok + "ab")],
                whole(200, "ab", reusable: true)),
            Row("no answer", [.end], .failed(.closed, "closed without an answer")),
            Row("a reset without an answer", [.fail()], .failed(.closed, "closed without an answer")),
            Row(
                "a part", [.receive(ok + "a"), .end],
                .failed(.malformed, "the connection ended before the response was complete")),
            Row(
                "a reset after a part", [.receive("HTTP"), .fail("alert")],
                .failed(.malformed, "the connection ended before the response was complete")),
            Row("not HTTP", [.receive("SSH-2.0\r\n")], .failed(.malformed, "the response is not HTTP/1")),
            Row(
                "too large", [.receive("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n")],
                .failed(.tooLarge, "the response is too large")),
        ])
    func response(_ row: Row) { check(row, .response(afterCertificate: false)) }

    @Test(
        "A server may refuse the client's certificate after the handshake",
        arguments: [
            Row("an alert", [.fail("certificate required")], .failed(.tls, "TLS: certificate required")),
            Row("no alert", [.fail()], .failed(.closed, "closed without an answer")),
            Row(
                "an alert after a part", [.receive("HTTP"), .fail("alert")],
                .failed(.malformed, "the connection ended before the response was complete")),
        ])
    func certificate(_ row: Row) { check(row, .response(afterCertificate: true)) }

    @Test(
        "A proxy makes a tunnel, or it does not",
        arguments: [
            Row("made", [.receive("HTTP/1.1 200 OK\r\n"), .receive("\r\n")], .tunnelled),
            Row(
                "refused", [.receive("HTTP/1.1 403 Forbidden\r\n")],
                .failed(.unreachable, "the proxy answers with status 403")),
            Row(
                "something follows", [.receive("HTTP/1.1 200 OK\r\n\r\nab")],
                .failed(.tls, "the server does not speak TLS")),
            Row(
                "not HTTP", [.receive("SSH-2.0\r\n")],
                .failed(.unreachable, "the proxy's answer is not valid: the response is not HTTP/1")),
            Row("closed", [.receive("HTTP/1.1 200"), .end], .failed(.unreachable, "the proxy closed the connection")),
            Row("reset", [.fail()], .failed(.unreachable, "the proxy closed the connection")),
        ])
    func tunnel(_ row: Row) { check(row, .tunnel) }
}
