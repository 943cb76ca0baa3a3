import EventLoops
import HTTPTypes

@testable import HTTPServer

/// Passes bytes to a ``ConnectionMachine`` like a connection whose handler responds at once.
struct MachineDriver {
    struct Handled: Hashable {
        var method: String
        var path: String
        var query: String?
        var body: [UInt8]
        /// Whether the response would announce the end of the connection.
        var closes: Bool
    }

    struct Outcome: Hashable {
        var handled: [Handled] = []
        var refusal: RequestError?
        var isClosed = false
    }

    static let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    var machine: ConnectionMachine
    private(set) var outcome = Outcome()
    private(set) var continues = 0
    var now = start

    init(limits: ServerLimits = ServerLimits(), timeouts: ServerTimeouts = ServerTimeouts()) {
        machine = ConnectionMachine(limits: limits, timeouts: timeouts, at: MachineDriver.start)
    }

    mutating func receive(_ bytes: ArraySlice<UInt8>) {
        guard machine.wantsInput else { return }
        perform(machine.receive(bytes.span, at: now))
    }

    mutating func receive(_ text: String) { receive(wire(text)[...]) }

    mutating func inputEnded() {
        guard machine.wantsInput else { return }
        perform(machine.inputEnded())
    }

    mutating func perform(_ first: ConnectionMachine.Action) {
        var action = first
        while true {
            switch action {
            case .wait:
                noteContinue()
                return
            case .handle(let head, let body):
                let closes = machine.closesAfterResponse
                outcome.handled.append(
                    Handled(
                        method: head.method.rawValue, path: head.path, query: head.rawQuery, body: body, closes: closes)
                )
                action = machine.respond(to: head, at: now)
            case .refuse(let error):
                noteContinue()
                outcome.refusal = outcome.refusal ?? error
                action = machine.respond(to: nil, at: now)
            case .endWriting: return
            case .close:
                outcome.isClosed = true
                return
            }
        }
    }

    /// Sends 100 Continue: before a response there is no other output.
    private mutating func noteContinue() {
        if !machine.output.isEmpty { continues += 1 }
        _ = machine.send { bytes, _ in bytes.count }
    }

    /// The outcome of bytes that arrive in pieces, each of which ends at one of the cuts.
    static func outcome(
        of bytes: [UInt8], cutAt cuts: some Sequence<Int>, thenEnd ends: Bool = false,
        limits: ServerLimits = ServerLimits()
    ) -> Outcome {
        var driver = MachineDriver(limits: limits)
        var start = 0
        for cut in cuts where cut > start && cut < bytes.count {
            driver.receive(bytes[start..<cut])
            start = cut
        }
        if start < bytes.count { driver.receive(bytes[start...]) }
        if ends { driver.inputEnded() }
        return driver.outcome
    }
}

extension ConnectionMachine {
    /// A short response whose bytes the socket takes at once.
    mutating func respond(to head: RequestHead?, at now: MonotonicTime) -> Action {
        _ = respond(Response(status: .ok), to: head, date: [], at: now)
        _ = send { bytes, _ in bytes.count }
        return nextAction(at: now)
    }
}
