import Dispatch
import EventLoops
import Foundation
import OutboundHTTP
import Primitives
import Synchronization
import TestSupport
import Testing

struct ReuseTests {
    @Test(
        "A connection that its server ends, or whose framing is doubtful, is not used again",
        arguments: [
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}x",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
        ])
    func notReused(answer: String) async throws {
        try await withPeer { connection in
            while connection.readRequest() != nil { connection.send(answer) }
        } _: { peer in
            try await withClient { client in
                for _ in 0..<3 { try await client.expect(.post(peer.url()), Array("{}".utf8)) }
            }
            #expect(peer.connectionCount == 3)
        }
    }

    @Test("Bytes that come without a request are never a response, and end their connection")
    func unasked() async throws {
        let (connections, kept) = AsyncStream.makeStream(of: RawHTTPPeer.Connection.self)
        try await withPeer { connection in
            connection.readRequest()
            connection.answer()
            kept.yield(connection)
            connection.hold()
        } _: { peer in
            try await withClient { client in
                var iterator = connections.makeAsyncIterator()
                for number in 1...3 {
                    try await client.expect(.post(peer.url()))
                    #expect(peer.connectionCount == number)
                    await iterator.next()?.send("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")
                }
            }
        }
    }

    @Test("An idle connection is closed after its time")
    func idleTime() async throws {
        try await withPeer { connection in
            while connection.readRequest() != nil { connection.answer() }
        } _: { peer in
            try await withClient {
                $0.keptConnectionSeconds = 1
            } _: { client in
                try await client.expect(.post(peer.url()))
                try await until { peer.openConnectionCount == 0 }
                try await client.expect(.post(peer.url()))
            }
            #expect(peer.connectionCount == 2)
        }
    }

    @Test("After a kept connection got no response, those that were kept before are not used again")
    func silence() async throws {
        let together = 4
        let areAllOpen = DispatchSemaphore(value: 0)
        let arrived = Atomic(0)
        try await withPeer { connection in
            // The first connections answer once, as if a firewall then forgot them; later ones always.
            while connection.readRequest() != nil {
                let number = arrived.add(1, ordering: .relaxed).newValue
                if number == together { for _ in 0..<together { areAllOpen.signal() } }
                if number <= together { areAllOpen.wait() }
                connection.answer()
                if number <= together { return connection.hold() }
            }
        } _: { peer in
            try await withClient { client in
                try await withThrowingTaskGroup { group in
                    for _ in 0..<together { group.addTask { try await client.expect(.post(peer.url())) } }
                    try await group.waitForAll()
                }
                #expect(peer.connectionCount == together)
                let failure = await client.failure(try .post(peer.url(), timeout: .seconds(1)))
                #expect(failure?.code == .timedOut)
                for _ in 0..<together { try await client.expect(.post(peer.url())) }
                #expect(peer.connectionCount > together)
            }
        }
    }

    @Test("A kept connection is probed, so that it does not stay when its server is gone")
    func probes() async throws {
        try await withPeer { connection in
            while connection.readRequest() != nil { connection.answer() }
        } _: { peer in
            try await withClient { client in
                try await client.expect(.post(peer.url()))
                // The timer of a socket is the sixth field; 02 is that of TCP's keep-alive (proc_net_tcp.txt in Linux).
                let port = String(peer.port, radix: 16, uppercase: true)
                let address = "0100007F:" + String(repeating: "0", count: 4 - port.count) + port
                // The table is read in pieces, and sockets come and go meanwhile.
                try await until {
                    try lines(of: "/proc/net/tcp").contains { line in
                        let fields = line.split(separator: " ")
                        return fields[2] == address && fields[3] == "01" && fields[5].hasPrefix("02:")
                    }
                }
            }
        }
    }

    @Test("No more connections than allowed are kept; the longest idle one is closed")
    func keptCount() async throws {
        let script: @Sendable (RawHTTPPeer.Connection) -> Void = { connection in
            while connection.readRequest() != nil { connection.answer() }
        }
        try await withPeer(script) { first in
            try await withPeer(script) { second in
                try await withClient {
                    $0.maximumIdleConnections = 1
                } _: { client in
                    try await client.expect(.post(first.url()))
                    try await client.expect(.post(second.url()))
                    try await until { first.openConnectionCount == 0 }
                    try await client.expect(.post(second.url()))
                    #expect(second.connectionCount == 1)
                }
            }
        }
    }

    @Test("The limit of kept connections counts those of all loops")
    func keptCountOfLoops() async throws {
        try await withPeer { connection in
            while connection.readRequest() != nil { connection.answer() }
        } _: { peer in
            let loops = try (0..<4).map { try EventLoop(label: "loop-\($0)", tick: .seconds(1)) }
            try await withClient {
                $0.maximumIdleConnections = 2
            } _: { client in
                let request = try OutboundRequest.post(peer.url())
                for loop in loops {
                    try await Task(executorPreference: loop) { try await client.expect(request) }.value
                }
                #expect(peer.connectionCount == 4)
                try await until { peer.openConnectionCount <= 2 }
                #expect(peer.openConnectionCount == 2)
            }
        }
    }

    @Test("Callers on several loops share the limits of a host, and each loop keeps its connections")
    func loops() async throws {
        let active = Atomic(0)
        let most = Atomic(0)
        try await withPeer { connection in
            while let request = connection.readRequest() {
                most.max(active.add(1, ordering: .relaxed).newValue, ordering: .relaxed)
                active.subtract(1, ordering: .relaxed)
                connection.answer(body: request.body)
            }
        } _: { peer in
            let loops = try (0..<3).map { try EventLoop(label: "loop-\($0)", tick: .seconds(1)) }
            try await withClient {
                $0.perHostConnections = 1
            } _: { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<60 {
                        let request = try OutboundRequest.post(peer.url(), body: "\(number)")
                        group.addTask(executorPreference: loops[number % 3]) {
                            let response = try await client.send(request)
                            #expect(response.body == request.body)
                            #expect(EventLoop.current === loops[number % 3])
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(client.exchangesInFlight == 0)
            }
            #expect(most.load(ordering: .relaxed) == 1)
            #expect((1...3).contains(peer.connectionCount))
            try await until { peer.openConnectionCount == 0 }
        }
    }

    @Test("The end of a loop fails what is under way on it, and nothing else")
    func endOfLoop() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        try await withPeer { connection in
            guard let request = connection.readRequest(), request.startLine.contains("hang") else {
                connection.answer()
                return
            }
            connection.hold()
            arrived.yield()
        } _: { peer in
            let loop = try EventLoop(label: "loop", tick: .seconds(1))
            try await withClient { client in
                let request = try OutboundRequest.post(peer.url("/hang"), timeout: .seconds(60))
                let task = Task(executorPreference: loop) { await client.failure(request) }
                var iterator = arrivals.makeAsyncIterator()
                await iterator.next()
                loop.execute { loop.abandonMembers() }
                let error = await task.value
                #expect(error?.code == .shutDown)
                #expect(error?.mayHaveBeenSent == true)
                try await client.expect(.post(peer.url()))
            }
        }
    }
}

/// The lines of a file of the system's, which has no size to read by.
private func lines(of path: String) throws -> [String] {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 512)
    var lines: [String] = []
    while fgets(&buffer, Int32(buffer.count), file) != nil {
        lines.append(String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
    return lines
}
