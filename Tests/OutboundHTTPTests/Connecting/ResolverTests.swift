import Dispatch
import EventLoops
import OutboundHTTP
import Primitives
import Synchronization
import TestSupport
import Testing

struct ResolverTests {
    @Test("Families take turns, beginning with the first address's")
    func interleaved() {
        let addresses = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1", "192.0.2.2"]
        let expected = ["2001:db8::1", "192.0.2.1", "2001:db8::2", "192.0.2.2", "2001:db8::3"]
        #expect(
            Resolver.interleaved(addresses.compactMap { IPAddress($0) }) == expected.compactMap { IPAddress($0) })
        #expect(Resolver.interleaved([]) == [])
    }

    @Test("localhost is loopback, and a name that does not exist has no address")
    func systemLookUp() throws {
        let local = try Resolver.systemLookUp("localhost")
        #expect(local.allSatisfy { $0.isLoopback })
        #expect(local.count == 2)
        #expect(try Resolver.systemLookUp("name.invalid") == [])
    }

    @Test("A name that resolves to an address inside is refused before a connection")
    func inside() async throws {
        try await withPeer { connection in
            connection.readRequest()
            connection.answer("200 OK", ["Connection: close"])
        } _: { peer in
            let lookUps = Atomic(0)
            let resolver = Resolver { _ in
                lookUps.add(1, ordering: .relaxed)
                return [IPAddress("127.0.0.1")].compactMap(\.self)
            }
            try await withClient(resolvedBy: resolver) {
                $0.addressPolicy = .publicOnly
            } _: { client in
                let error = await client.failure(try .post("https://inside.example:\(peer.port)/"))
                #expect(error?.code == .addressRefused)
                #expect(error?.mayHaveBeenSent == false)
            }
            #expect(lookUps.load(ordering: .relaxed) == 1)
            #expect(peer.connectionCount == 0)
        }
    }

    /// DNS rebinding. The second address must not be tried: nothing there would be of this machine.
    @Test("A name that first resolves to an allowed address, and then to one inside, is refused the second time")
    func rebinding() async throws {
        try await withPeer { connection in
            connection.send("HTTP/1.1 400 Bad Request\r\n\r\n")
        } _: { peer in
            let lookUps = Atomic(0)
            let resolver = Resolver { _ in
                let isFirst = lookUps.add(1, ordering: .relaxed).newValue == 1
                return [IPAddress(isFirst ? "127.0.0.1" : "169.254.169.254")].compactMap(\.self)
            }
            try await withClient(resolvedBy: resolver) { client in
                // It speaks no TLS, so the name is looked up again.
                let first = await client.failure(try .post("https://name.example:\(peer.port)/"))
                #expect(first?.code == .tls)
                let second = await client.failure(try .post("https://name.example:\(peer.port)/"))
                #expect(second?.code == .addressRefused)
                #expect(second?.mayHaveBeenSent == false)
            }
            #expect(lookUps.load(ordering: .relaxed) == 2)
            #expect(peer.connectionCount == 1)
        }
    }

    @Test("An address that refuses the connection gives way to the next, also a refused one to an allowed one")
    func fallback() async throws {
        try await withPeer { connection in
            connection.readRequest()
            connection.answer()
        } _: { peer in
            // The peer listens on 127.0.0.1 only, and 169.254.0.1 is never allowed.
            let resolver = Resolver { _ in
                ["169.254.0.1", "127.0.0.2", "::1", "127.0.0.1"].compactMap { IPAddress($0) }
            }
            try await withClient(resolvedBy: resolver) { client in
                try await client.expect(.post("http://localhost:\(peer.port)/"))
            }
        }
    }

    @Test("A name is looked up once for all that wait for it, and kept")
    func single() async throws {
        let lookUps = Atomic(0)
        try await withPeer { connection in
            connection.readRequest()
            connection.answer("200 OK", ["Connection: close"])
        } _: { peer in
            let resolver = Resolver { _ in
                lookUps.add(1, ordering: .relaxed)
                return [IPAddress("127.0.0.1")].compactMap(\.self)
            }
            try await withClient(resolvedBy: resolver) { client in
                try await withThrowingTaskGroup(of: Int.self) { group in
                    let request = try OutboundRequest.post("http://localhost:\(peer.port)/")
                    for _ in 0..<20 { group.addTask { try await client.send(request).status } }
                    for try await status in group { #expect(status == 200) }
                }
            }
            #expect(lookUps.load(ordering: .relaxed) == 1)
        }
    }

    @Test("A look-up that has ended serves whoever asks later, also if it was not known a moment before")
    func asksLater() async throws {
        let lookUps = Atomic(0)
        let loopback = try #require(IPAddress("127.0.0.1"))
        let resolver = Resolver { _ in
            lookUps.add(1, ordering: .relaxed)
            return [loopback]
        }
        let now = MonotonicTime.now()
        let looked = await withCheckedContinuation { continuation in
            let known = resolver.addresses(of: "name.example", at: now) { continuation.resume(returning: $0) }
            #expect(known == nil)
        }
        #expect(try looked.get() == [loopback])
        let again = resolver.addresses(of: "name.example", at: now) { _ in Issue.record("looked up again") }
        #expect(again == [loopback])
        #expect(lookUps.load(ordering: .relaxed) == 1)
    }

    // One less than may run at once. Dispatch's shared queues would need a second for most of them.
    @Test("Look-ups that hang delay no other host, and count towards the deadline")
    func hanging() async throws {
        let gate = DispatchSemaphore(value: 0)
        try await withPeer { connection in
            while connection.readRequest() != nil { connection.answer() }
        } _: { peer in
            let resolver = Resolver { name in
                if name.hasPrefix("hang") { gate.wait() }
                return [IPAddress("127.0.0.1")].compactMap(\.self)
            }
            try await withClient(resolvedBy: resolver) { client in
                defer { for _ in 0..<15 { gate.signal() } }
                try await withThrowingTaskGroup { group in
                    for number in 0..<15 {
                        let hanging = try OutboundRequest.post(
                            "https://hang\(number).example/", timeout: .milliseconds(300))
                        group.addTask { await client.failure(hanging)?.code }
                    }
                    for try await code in group { #expect(code == .timedOut) }
                }
                try await client.expect(.post("http://localhost:\(peer.port)/"))
            }
        }
    }

    @Test("A name without addresses is unreachable, and nothing was sent")
    func unknown() async throws {
        try await withClient(resolvedBy: Resolver { _ in [] }) { client in
            let error = await client.failure(try .post("https://name.example/"))
            #expect(error?.code == .unreachable)
            #expect(error?.mayHaveBeenSent == false)
        }
    }
}
