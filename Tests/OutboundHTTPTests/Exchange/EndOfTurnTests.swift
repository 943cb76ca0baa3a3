import Dispatch
import EventLoops
import OutboundHTTP
import Primitives
import TestSupport
import Testing

struct EndOfTurnTests {
    @Test(
        "In a turn with several events or pieces of work, a request starts after them; alone, it starts at once",
        arguments: [
            (isAlone: false, order: ["other work", "refused"]), (isAlone: true, order: ["refused", "other work"]),
        ])
    func order(isAlone: Bool, order: [String]) async throws {
        let loop = try EventLoop(label: "end-of-turn", tick: .seconds(3600))
        let (steps, step) = AsyncStream.makeStream(of: String.self)
        try await withClient {
            $0.addressPolicy = AddressPolicy(allowLoopback: false)
        } _: { client in
            var iterator = steps.makeAsyncIterator()
            // Refused as soon as it starts, without a connection.
            let request = try OutboundRequest.get("https://127.0.0.1/")
            let send: @Sendable () -> Void = {
                Task.immediate(executorPreference: loop) {
                    let error = await client.failure(request)
                    step.yield(error?.code == .addressRefused ? "refused" : "\(String(describing: error))")
                }
            }
            let workOn: @Sendable () -> Void = { loop.execute { step.yield("other work") } }
            let both: @Sendable () -> Void = {
                send()
                workOn()
            }
            try await submitForOneTurn(of: loop, isAlone ? [both] : [send, workOn])
            for expected in order { #expect(await iterator.next() == expected) }
        }
    }

    @Test("The pool's end fails a request that waits for the end of the turn, and the request is not sent")
    func end() async throws {
        try await withPeer { connection in
            while connection.readRequest() != nil { connection.answer() }
        } _: { peer in
            let loop = try EventLoop(label: "end-of-turn", tick: .seconds(3600))
            let (outcomes, outcome) = AsyncStream.makeStream(of: OutboundError?.self)
            try await withClient { client in
                var iterator = outcomes.makeAsyncIterator()
                let request = try OutboundRequest.post(peer.url())
                let send: @Sendable () -> Void = {
                    Task.immediate(executorPreference: loop) { outcome.yield(await client.failure(request)) }
                }
                // Its connection is kept for the next one.
                loop.execute(send)
                #expect(try #require(await iterator.next()) == nil)
                try await submitForOneTurn(of: loop, [send, { loop.abandonMembers() }])
                let error = try #require(await iterator.next())
                #expect(error?.code == .shutDown)
                #expect(error?.mayHaveBeenSent == false)
            }
        }
    }

    @Test("Of many requests in a turn that fail at once, each lets the next one start")
    func many() async throws {
        let loop = try EventLoop(label: "end-of-turn", tick: .seconds(3600))
        let (codes, code) = AsyncStream.makeStream(of: OutboundError.Code?.self)
        try await withClient {
            $0.addressPolicy = AddressPolicy(allowLoopback: false)
            $0.perHostConnections = 1
        } _: { client in
            var iterator = codes.makeAsyncIterator()
            let request = try OutboundRequest.get("https://127.0.0.1/")
            let send: @Sendable () -> Void = {
                Task.immediate(executorPreference: loop) { code.yield(await client.failure(request)?.code) }
            }
            try await submitForOneTurn(of: loop, Array(repeating: send, count: 100))
            for _ in 0..<100 { #expect(await iterator.next() == .addressRefused) }
        }
    }

    /// Has a loop run all in one turn, which begins with them.
    private func submitForOneTurn(of loop: EventLoop, _ work: [@Sendable () -> Void]) async throws {
        let (turns, turn) = AsyncStream.makeStream(of: Void.self)
        var iterator = turns.makeAsyncIterator()
        // The loop sleeps after it, so that no event of its start is left.
        loop.execute { turn.yield() }
        try #require(await iterator.next() != nil)
        // What is submitted during a turn is the next one's.
        let areSubmitted = DispatchSemaphore(value: 0)
        defer { areSubmitted.signal() }
        loop.execute {
            turn.yield()
            areSubmitted.wait()
        }
        try #require(await iterator.next() != nil)
        for call in work { loop.execute(call) }
    }
}
