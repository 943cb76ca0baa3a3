import OutboundHTTP
import Primitives
import TestSupport
import Testing

struct LimitTests {
    @Test("A hundred hanging requests to one host do not delay another's, and end with the client")
    func hangingHost() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        try await withPeer { connection in
            connection.readRequest()
            connection.hold()
            arrived.yield()
        } _: { hanging in
            try await withPeer { connection in
                while connection.readRequest() != nil { connection.answer() }
            } _: { healthy in
                try await withClient { client in
                    try await withThrowingTaskGroup(of: OutboundError?.self) { group in
                        let request = try OutboundRequest.post(hanging.url(), timeout: .seconds(60))
                        for _ in 0..<100 { group.addTask { await client.failure(request) } }
                        var iterator = arrivals.makeAsyncIterator()
                        for _ in 0..<64 { await iterator.next() }

                        let started = ContinuousClock.now
                        for _ in 0..<20 { #expect(try await client.send(.post(healthy.url())).status == 200) }
                        #expect(ContinuousClock.now - started < .seconds(30))

                        await client.shutdown()
                        var errors: [OutboundError] = []
                        for try await error in group { if let error { errors.append(error) } }
                        #expect(errors.count == 100)
                        #expect(errors.allSatisfy { $0.code == .shutDown })
                        #expect(errors.count(where: \.mayHaveBeenSent) == 64)
                    }
                }
            }
            #expect(hanging.connectionCount == 64)
        }
    }

    @Test("Waiting for a connection counts towards the deadline")
    func waitingCounts() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        try await withPeer { connection in
            connection.hold()
            arrived.yield()
        } _: { peer in
            try await withClient {
                $0.perHostConnections = 1
            } _: { client in
                let hanging = try OutboundRequest.post(peer.url(), timeout: .seconds(60))
                async let first = client.failure(hanging)
                var iterator = arrivals.makeAsyncIterator()
                await iterator.next()
                let second = await client.failure(try .post(peer.url(), timeout: .milliseconds(100)))
                #expect(second?.code == .timedOut)
                #expect(second?.mayHaveBeenSent == false)
                await client.shutdown()
                #expect(await first?.code == .shutDown)
            }
            #expect(peer.connectionCount == 1)
        }
    }

    @Test("Waiting requests get a place when one becomes free")
    func turns() async throws {
        try await withPeer { connection in
            while connection.readRequest() != nil { connection.answer() }
        } _: { peer in
            try await withClient {
                $0.perHostConnections = 1
            } _: { client in
                try await withThrowingTaskGroup(of: Int.self) { group in
                    let request = try OutboundRequest.post(peer.url())
                    for _ in 0..<50 { group.addTask { try await client.send(request).status } }
                    for try await status in group { #expect(status == 200) }
                }
            }
            #expect(peer.connectionCount == 1)
            #expect(peer.requests.count == 50)
        }
    }

    @Test("After the shutdown all requests are refused, and another shutdown does nothing")
    func afterShutdown() async throws {
        try await withPeer { connection in
            while connection.readRequest() != nil { connection.answer() }
        } _: { peer in
            try await withClient { client in
                #expect(try await client.send(.post(peer.url())).status == 200)
                await client.shutdown()
                while peer.openConnectionCount > 0 { await Task.yield() }
                let error = await client.failure(try .post(peer.url()))
                #expect(error?.code == .shutDown)
                #expect(error?.mayHaveBeenSent == false)
                await client.shutdown()
            }
            #expect(peer.requests.count == 1)
        }
    }

    @Test("A cancelled task's exchange ends once, with its response")
    func cancelled() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let (releases, release) = AsyncStream.makeStream(of: RawHTTPPeer.Connection.self)
        try await withPeer { connection in
            connection.readRequest()
            connection.hold()
            arrived.yield()
            release.yield(connection)
        } _: { peer in
            try await withClient { client in
                let request = try OutboundRequest.post(peer.url())
                let task = Task { try await client.send(request).status }
                var iterator = arrivals.makeAsyncIterator()
                await iterator.next()
                task.cancel()
                var connections = releases.makeAsyncIterator()
                await connections.next()?.answer()
                #expect(try await task.value == 200)
            }
        }
    }

    @Test("A client without references closes its connections")
    func abandoned() async throws {
        try await withPeer { connection in
            while connection.readRequest() != nil { connection.answer() }
        } _: { peer in
            do {
                let client = try OutboundHTTPClient(.loopback)
                #expect(try await client.send(.post(peer.url())).status == 200)
            }
            while peer.openConnectionCount > 0 { await Task.yield() }
        }
    }
}
