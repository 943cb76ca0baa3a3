import Glibc
import HTTPServer
import HTTPTypes
import Logging
import Primitives
import Synchronization
import TestSupport
import Testing

/// Each test runs in its own process, because descriptors and their limit belong to the whole process.
@Suite("Descriptors", .serialized)
struct DescriptorTests {
    @Test("Two thousand connections leak no descriptor")
    func nothingLeft() async {
        await #expect(processExitsWith: .success) {
            try await LiveServer.run { live in
                let request = request("GET /", "Connection: close")
                #expect(try await live.answers(to: request).count == 1)
                #expect(try await live.reachesConnectionCount(0))
                try await Descriptors.openThoseOfTimers()
                let before = Descriptors.open().count
                for number in 0..<2000 {
                    let client = try await live.connect()
                    if number % 4 == 0 { await client.reset() }
                    if number % 4 == 1 { await client.close() }
                    if number % 4 >= 2 {
                        try await client.send(request)
                        #expect(try await client.readResponse().status == 200)
                        await client.close()
                    }
                }
                // A connection that was reset may still wait to be accepted, and is closed only afterwards. A leak of
                // one kind of connection would be 500; Dispatch may open some of its own meanwhile.
                try await until { Descriptors.open().count < before + 50 }
                #expect(try await live.reachesConnectionCount(0))
            }
        }
    }

    @Test("Four hundred streams leak no descriptor, whichever side ends them")
    func nothingLeftOfStreams() async {
        await #expect(processExitsWith: .success) {
            let handler: Handler = { request in
                try request.stream(headers: [:]) { writer in
                    try await writer.write(Array("first".utf8))
                    if request.path == "/ends" { return }
                    // Waits for its cancellation.
                    try await Task.sleep(for: .seconds(600))
                }
            }
            try await LiveServer.run(handler: handler) { live in
                func watch(_ number: Int) async throws {
                    let client = try await live.connect()
                    try await client.send(wire(request(number % 4 == 3 ? "GET /ends" : "GET /")))
                    _ = try await client.readUntil("first\r\n")
                    if number % 4 == 0 { await client.reset() } else { await client.close() }
                }
                for number in 0..<4 { try await watch(number) }
                #expect(try await live.reachesConnectionCount(0))
                try await Descriptors.openThoseOfTimers()
                let before = Descriptors.open().count
                for number in 0..<400 { try await watch(number) }
                #expect(try await live.reachesConnectionCount(0))
                try await until { Descriptors.open().count < before + 50 }
                #expect(live.server.statistics.streams == 0)
            }
        }
    }

    @Test("A stopped server leaves no descriptor, also of its loops, after it took, refused and dropped connections")
    func nothingLeftOfServers() async {
        await #expect(processExitsWith: .success) {
            func serve() async throws {
                var limits = ServerLimits()
                limits.connections = 8
                limits.patience = .seconds(600)
                let gate = ThreadGate()
                let handler: ImmediateHandler = { request in
                    if request.path == "/wait" { gate.pass() }
                    return .value(Response(status: .ok))
                }
                try await LiveServer.run(loops: 1, limits: limits, immediateHandler: handler) { live in
                    let busy = try await live.connect()
                    try await busy.send(request("GET /wait"))
                    await gate.whenReached()
                    // They arrive while the loop waits, so that it accepts them at once: more than it takes, even of
                    // those that it refuses.
                    var clients: [RawClient] = []
                    for _ in 0..<300 { clients.append(try await live.connect()) }
                    gate.open()
                    try await until { live.server.statistics.limited[.unanswered, default: 0] > 0 }
                    for client in clients.prefix(4) { await client.reset() }
                }
            }
            try await serve()
            try await Descriptors.openThoseOfTimers()
            let before = Descriptors.open().count
            for _ in 0..<3 { try await serve() }
            try await until { Descriptors.open().count <= before }
        }
    }

    @Test("A server that ran out of descriptors recovers")
    func exhausted() async {
        await #expect(processExitsWith: .success) {
            let warned = Gate()
            let logger = Logger(label: "test") { _ in WarningHandler(warned: warned) }
            try await LiveServer.run(logger: logger) { live in
                let early = try await live.connect()
                try await early.send(request("GET /early"))
                #expect(try await early.readResponse().status == 200)
                // The late client's socket takes the last descriptor: accepting it fails.
                Descriptors.setLimit((Descriptors.open().max() ?? 0) + 20)
                let filling = Descriptors.takeAll(leaving: 1)
                #expect(filling.count > 1)
                let late = try await live.connect()
                try await late.send(request("GET /late"))
                await warned.pass()
                try await early.send(request("GET /early"))
                #expect(try await early.readResponse().status == 200)
                for descriptor in filling { close(descriptor) }
                #expect(try await late.readResponse().text == "GET /late ")
            }
        }
    }
}

/// Opens a gate at the first warning.
private struct WarningHandler: LogHandler {
    let warned: Gate
    var metadata = Logger.Metadata()
    var logLevel = Logger.Level.warning

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { warned.open() }
}

private enum Descriptors {
    /// The process's open descriptors.
    static func open() -> [Int32] {
        (0..<Int32(4096)).filter { fcntl($0, F_GETFD) != -1 }
    }

    /// The first timer opens descriptors, which stay open. Its end shows that they are open.
    static func openThoseOfTimers() async throws { try await Task.sleep(for: .milliseconds(1)) }

    static func setLimit(_ count: Int32) {
        var limit = rlimit()
        getrlimit(kind, &limit)
        limit.rlim_cur = rlim_t(count)
        setrlimit(kind, &limit)
    }

    /// Opens descriptors until there are no more, and closes some.
    static func takeAll(leaving count: Int) -> [Int32] {
        var taken: [Int32] = []
        while case let descriptor = dup(0), descriptor >= 0 { taken.append(descriptor) }
        for _ in 0..<count { if let descriptor = taken.popLast() { close(descriptor) } }
        return taken
    }

    private static let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
}
