import HTTPServer
import Testing

@Suite("100-continue")
struct ContinueTests {
    private let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"

    @Test(
        "100 Continue is sent once",
        arguments: ["Content-Length: 5", "Transfer-Encoding: chunked"])
    func asked(_ framing: String) {
        var driver = MachineDriver()
        driver.receive(head + framing + "\r\n\r\n")
        #expect(driver.continues == 1)
        driver.receive(framing.hasPrefix("C") ? "hello" : "5\r\nhello\r\n0\r\n\r\n")
        #expect(driver.continues == 1)
        #expect(driver.outcome.handled.map(\.body) == [wire("hello")])
    }

    @Test("No 100 Continue once content has begun to arrive")
    func begun() {
        var driver = MachineDriver()
        driver.receive(head + "Content-Length: 5\r\n\r\nh")
        driver.receive("ello")
        #expect(driver.continues == 0)
        #expect(driver.outcome.handled.count == 1)
    }

    @Test("HTTP/1.0 gets no interim response")
    func version() {
        var driver = MachineDriver()
        driver.receive("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        #expect(driver.continues == 0)
    }

    @Test("Content that is too large is refused without 100 Continue")
    func tooLarge() {
        var driver = MachineDriver()
        driver.receive(head + "Content-Length: 65537\r\n\r\n")
        #expect(driver.continues == 0)
        #expect(driver.outcome.refusal == .bodyTooLarge)
    }
}
