import EventLoops
import Foundation
import Glibc
import OutboundHTTP
import Primitives
import Synchronization
import TestSupport
import Testing

struct ConnectorTests {
    @Test("Of a name's addresses, 8 are tried", arguments: [(7, true), (8, false)])
    func addressLimit(refused: Int, isAnswered: Bool) async throws {
        try await withPeer { connection in
            connection.readRequest()
            connection.answer()
        } _: { peer in
            // The peer listens on 127.0.0.1 only.
            let resolver = Resolver { _ in
                var addresses = (0..<100).map { "127.0.1.\($0)" }
                addresses[refused] = "127.0.0.1"
                return addresses.compactMap { IPAddress($0) }
            }
            try await withClient(resolvedBy: resolver) { client in
                let error = await client.failure(try .post("http://localhost:\(peer.port)/"))
                #expect(error?.code == (isAnswered ? nil : .unreachable))
            }
            #expect(peer.connectionCount == (isAnswered ? 1 : 0))
        }
    }

    @Test(
        "A name whose address does not answer is looked up again, after the connect timeout and after the deadline",
        arguments: [(2, 60, .unreachable), (60, 2, .timedOut)] as [(Int, Int, OutboundError.Code)])
    func silentAddress(connectTimeout: Int, timeout: Int, code: OutboundError.Code) async throws {
        try await withPeer { connection in
            connection.readRequest()
            connection.answer()
        } _: { peer in
            let silent = try SilentListener(host: "127.0.0.2", port: peer.port)
            defer { silent.stop() }
            let lookUps = Atomic(0)
            let resolver = Resolver { _ in
                let isFirst = lookUps.add(1, ordering: .relaxed).newValue == 1
                return [IPAddress(isFirst ? "127.0.0.2" : "127.0.0.1")].compactMap(\.self)
            }
            try await withClient(resolvedBy: resolver) {
                $0.connectTimeout = .seconds(connectTimeout)
            } _: { client in
                let url = "http://localhost:\(peer.port)/"
                let error = await client.failure(try .post(url, timeout: .seconds(timeout)))
                #expect(error?.code == code)
                #expect(error?.fault == "timed out after 2 s, without a connection")
                try await client.expect(.post(url))
            }
            #expect(lookUps.load(ordering: .relaxed) == 2)
        }
    }

    @Test("What a server sends, or ends, as soon as it has accepted the connection is noticed at once")
    func hastyServer() async throws {
        try await withPeer { connection in
            connection.send("HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")
            connection.readRequest()
        } _: { peer in
            try await withClient { client in
                let response = try await client.send(.post(peer.url()))
                #expect(response.status == 429)
            }
        }
        try await withPeer { _ in
        } _: { peer in
            try await withClient {
                // Longer than any test waits.
                $0.connectTimeout = .seconds(3600)
            } _: { client in
                let request = try OutboundRequest.post("https://localhost:\(peer.port)/", timeout: .seconds(3600))
                #expect(await client.failure(request)?.code == .tls)
            }
        }
    }

    @Test("A name whose server does not speak TLS is looked up again")
    func noTLS() async throws {
        try await withPeer {
            $0.send("HTTP/1.1 400 Bad Request\r\n\r\n")
        } _: { peer in
            let lookUps = Atomic(0)
            let resolver = Resolver { _ in
                lookUps.add(1, ordering: .relaxed)
                return [IPAddress("127.0.0.1")].compactMap(\.self)
            }
            try await withClient(resolvedBy: resolver) { client in
                for number in 1...2 {
                    let error = await client.failure(try .post("https://localhost:\(peer.port)/"))
                    #expect(error?.code == .tls)
                    #expect(lookUps.load(ordering: .relaxed) == number)
                }
            }
        }
    }

    // In a process of its own, whose limit may be changed.
    @Test("A lack of descriptors on this machine is not the server's failure")
    func noDescriptors() async {
        await #expect(processExitsWith: .success) {
            try await withPeer { connection in
                connection.readRequest()
                connection.answer("200 OK", ["Connection: close"])
            } _: { peer in
                let lookUps = Atomic(0)
                let resolver = Resolver { _ in
                    lookUps.add(1, ordering: .relaxed)
                    return [IPAddress("127.0.0.1")].compactMap(\.self)
                }
                try await withClient(resolvedBy: resolver) { client in
                    let request = try OutboundRequest.post("http://localhost:\(peer.port)/")
                    try await client.expect(request)
                    let limit = setDescriptorLimit(0)
                    let error = await client.failure(request)
                    let lookUp = Result { try Resolver.systemLookUp("name.invalid") }
                    setDescriptorLimit(limit)
                    #expect(error?.code == .overloaded)
                    #expect(error?.mayHaveBeenSent == false)
                    #expect(error?.reason == "localhost: socket: \(String(cString: strerror(EMFILE)))")
                    #expect(throws: (any Error).self) { try lookUp.get() }
                    try await client.expect(request)
                }
                #expect(lookUps.load(ordering: .relaxed) == 1)
            }
        }
    }

    @Test("A look-up that this machine has no room for is not the server's failure")
    func noLookUp() async throws {
        let resolver = Resolver { _ throws(SystemError) in throw SystemError(call: "getaddrinfo", number: ENOMEM) }
        try await withClient(resolvedBy: resolver) { client in
            let error = await client.failure(try .post("https://name.example/"))
            #expect(error?.code == .overloaded)
            #expect(error?.mayHaveBeenSent == false)
        }
    }
}

/// - Returns: The limit before.
@discardableResult
private func setDescriptorLimit(_ count: rlim_t) -> rlim_t {
    let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    var limit = rlimit()
    getrlimit(kind, &limit)
    defer {
        limit.rlim_cur = count
        setrlimit(kind, &limit)
    }
    return limit.rlim_cur
}

/// Listens, and answers no attempt to connect: a connection that nobody accepts has taken the only place.
private struct SilentListener {
    private let descriptors: [Int32]

    init(host: String, port: UInt16) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, host, &address.sin_addr)
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let (listener, client) = (socket(AF_INET, kind, 0), socket(AF_INET, kind, 0))
        descriptors = [listener, client]
        let isReady = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let length = socklen_t(MemoryLayout<sockaddr_in>.size)
                return bind(listener, address, length) == 0 && listen(listener, 0) == 0
                    && connect(client, address, length) == 0
            }
        }
        guard isReady else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    func stop() { for descriptor in descriptors { close(descriptor) } }
}
