import HTTPServer
import HTTPTypes
import Testing

// One case after the other, so that the tests that wait for sockets can run.
@Suite("Framing of requests", .serialized)
struct FramingTests {
    /// Ways to cut bytes: not at all, after each byte, and once at each position. Long messages have fewer cuts.
    private static func allCuts(of bytes: [UInt8]) -> [[Int]] {
        let step = bytes.count < 600 ? 1 : bytes.count / 50
        let eachByte = bytes.count < 20_000 ? [Array(1..<max(2, bytes.count))] : []
        return [[]] + eachByte + stride(from: 1, to: bytes.count, by: step).map { [$0] }
    }

    @Test("Valid requests are parsed the same however they are split", arguments: AcceptedRequest.all)
    func accepted(_ row: AcceptedRequest) {
        for cuts in FramingTests.allCuts(of: row.bytes) {
            let outcome = MachineDriver.outcome(of: row.bytes, cutAt: cuts)
            #expect(outcome.refusal == nil, "cut at \(cuts.prefix(3))")
            #expect(outcome.handled == row.handled, "cut at \(cuts.prefix(3))")
            #expect(!outcome.isClosed)
        }
    }

    @Test(
        "A violation is refused by its rule however it is split, and nothing after it is handled",
        arguments: RefusedRequest.all)
    func refused(_ row: RefusedRequest) {
        for cuts in FramingTests.allCuts(of: row.bytes) {
            let outcome = MachineDriver.outcome(of: row.bytes, cutAt: cuts, thenEnd: row.ends)
            #expect(outcome.refusal == row.error, "cut at \(cuts.prefix(3))")
            #expect(outcome.handled.count == row.handledBefore, "cut at \(cuts.prefix(3))")
        }
    }

    @Test("Input after a refusal is discarded", arguments: RefusedRequest.all)
    func nothingAfterRefusal(_ row: RefusedRequest) {
        var driver = MachineDriver()
        driver.receive(row.bytes[...])
        if row.ends { driver.inputEnded() }
        for _ in 0..<3 { driver.receive(RefusedRequest.smuggled) }
        #expect(driver.outcome.handled.count == row.handledBefore)
        #expect(driver.outcome.refusal == row.error)
    }

    @Test("An end between requests closes without a response")
    func endBetweenRequests() {
        #expect(MachineDriver.outcome(of: [], cutAt: [], thenEnd: true) == .init(isClosed: true))
        let outcome = MachineDriver.outcome(of: wire(request("GET /")), cutAt: [], thenEnd: true)
        #expect(outcome.handled.count == 1)
        #expect(outcome.refusal == nil)
        #expect(outcome.isClosed)
    }

    @Test("Every rule has a request that it refuses", arguments: RequestError.allCases)
    func everyRuleIsReached(_ error: RequestError) {
        /// Depends on more than one request: see the tests of deadlines, of the limiter and of TLS.
        let reachedElsewhere: Set<RequestError> = [
            .headerTimeout, .bodyTimeout, .tooManyConnections, .tooManyConnectionsOfAddress,
            .plainHTTPOnTLS, .incompleteRequests,
        ]
        #expect(RefusedRequest.all.contains { $0.error == error } != reachedElsewhere.contains(error))
    }

    @Test("Every refusal has a status of 400 or more, a code and a message that says what to do")
    func refusalsAreTold() {
        for error in RequestError.allCases {
            #expect((400...599).contains(error.status.code))
            #expect(error.httpError.code.allSatisfy { $0.isLowercase || $0 == "_" })
            #expect(error.httpError.message.hasSuffix("."))
        }
    }

    @Test("Refusals have the statuses of RFC 9110 and RFC 9112")
    func statuses() {
        let expected: [RequestError: Int] = [
            .requestLineTooLong: 414, .fieldsTooLarge: 431, .tooManyFields: 431, .bodyTooLarge: 413,
            .contentCoding: 415,
            .expectation: 417, .headerTimeout: 408, .bodyTimeout: 408, .unsupportedVersion: 505, .methodTooLong: 501,
            .connect: 501, .tooManyConnections: 503, .tooManyConnectionsOfAddress: 429,
            .incompleteRequests: 503,
        ]
        for error in RequestError.allCases { #expect(error.status.code == expected[error] ?? 400) }
    }
}
