import HTTPServer
import HTTPTypes
import Logging
import TestSupport

/// A server on its own port, for one test.
struct LiveServer {
    let server: Server
    let port: UInt16
    /// The ports of the other listeners.
    var otherPorts: [UInt16] = []

    /// Starts a server, runs the test, stops the server.
    static func run(
        hosts: [String] = ["127.0.0.1"], kind: ListeningPoint.Kind = .plain, besides others: [ListeningPoint] = [],
        loops: Int = 2, limits: ServerLimits = ServerLimits(), timeouts: ServerTimeouts = ServerTimeouts(),
        logger: Logger = silentLogger, probePaths: Set<String> = [],
        errorRenderer: ErrorRenderer? = nil, loadShedder: LoadShedder? = nil, handler: @escaping Handler = echo,
        immediateHandler: ImmediateHandler? = nil,
        test: (LiveServer) async throws -> Void
    ) async throws {
        var configuration = ServerConfiguration(hosts: hosts, port: 0, loops: loops, limits: limits, timeouts: timeouts)
        configuration.listeners[0].kind = kind
        configuration.listeners += others
        configuration.probePaths = probePaths
        let handler = immediateHandler ?? immediate(handler)
        let server =
            errorRenderer.map {
                Server(
                    configuration: configuration, logger: logger, errorRenderer: $0, loadShedder: loadShedder,
                    handler: handler)
            }
            ?? Server(configuration: configuration, logger: logger, loadShedder: loadShedder, handler: handler)
        let ports = try server.start().map(\.port)
        do {
            try await test(LiveServer(server: server, port: ports[0], otherPorts: Array(ports.dropFirst())))
        } catch {
            await server.shutdown(within: .zero)
            throw error
        }
        await server.shutdown(within: .zero)
    }

    static let silentLogger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    /// Responds with method, path and content.
    static let echo: Handler = { request in
        let content = String(decoding: request.body, as: UTF8.self)
        return Response(
            status: .ok, contentType: "text/plain", text: "\(request.method.rawValue) \(request.path) \(content)")
    }

    func connect(
        limit: Duration = .seconds(30), receiveBufferBytes: Int32? = nil, from source: String? = nil,
        sending first: String = ""
    ) async throws -> RawClient {
        try await RawClient(
            port: port, limit: limit, receiveBufferBytes: receiveBufferBytes, from: source, sending: first)
    }

    /// Sends text on a new connection, and returns the responses until the server closes.
    func answers(to text: String, inPiecesOf size: Int? = nil) async throws -> [RawClient.Response] {
        let client = try await connect()
        try await client.send(wire(text), inPiecesOf: size)
        let bytes = try await client.readUntilClosed()
        await client.close()
        return try RawClient.Response.parseAll(bytes)
    }

    /// Whether the server reaches a number of connections in time.
    func reachesConnectionCount(_ count: Int) async throws -> Bool {
        do {
            try await until { server.connectionCount == count }
            return true
        } catch is TooLate {
            return false
        }
    }
}
