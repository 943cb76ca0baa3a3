import Testing

@testable import HTTPServer

@Suite("A client that half-closes")
struct HalfCloseTests {
    @Test("gets the response of its running request, then the connection closes")
    func whileHandled() {
        var machine = MachineDriver().machine
        guard case .handle(let head, _) = machine.receive(wire(request("GET /")).span, at: MachineDriver.start),
            case .wait = machine.inputEnded()
        else {
            Issue.record("the handler was cut")
            return
        }
        #expect(machine.closesAfterResponse)
        guard case .close = machine.respond(to: head, at: MachineDriver.start) else {
            Issue.record("left open")
            return
        }
    }

    @Test("gets responses to its complete pipelined requests")
    func withPipeline() {
        var driver = MachineDriver()
        let action = driver.machine.receive(
            wire(request("GET /a") + request("GET /b") + request("GET /c")).span, at: driver.now)
        _ = driver.machine.inputEnded()
        driver.perform(action)
        #expect(driver.outcome.handled.map(\.path) == ["/a", "/b", "/c"])
        #expect(driver.outcome.handled.map(\.closes) == [false, false, true])
        #expect(driver.outcome.isClosed)
        #expect(driver.outcome.refusal == nil)
    }

    @Test(
        "with an incomplete pipelined request is refused",
        arguments: [
            "GET /b HT", request("POST /b", "Content-Length: 5", then: "he"),
            request("POST /b", "Content-Length: 5", "Expect: 100-continue"),
            request("POST /b", "Transfer-Encoding: chunked", then: "5\r\nhel"),
        ])
    func brokenOff(_ rest: String) {
        var driver = MachineDriver()
        let action = driver.machine.receive(wire(request("GET /a") + rest).span, at: driver.now)
        _ = driver.machine.inputEnded()
        driver.perform(action)
        #expect(driver.outcome.handled.map(\.path) == ["/a"])
        #expect(driver.outcome.refusal == .incomplete && driver.continues == 0)
        #expect(driver.outcome.isClosed)
    }

    @Test("after the last response is closed at once")
    func whileLingering() {
        var driver = MachineDriver()
        driver.receive(request("GET /", "Connection: close"))
        #expect(!driver.outcome.isClosed)
        driver.inputEnded()
        #expect(driver.outcome.isClosed)
    }
}
