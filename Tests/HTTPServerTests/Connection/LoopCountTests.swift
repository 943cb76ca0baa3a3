import HTTPServer
import TestSupport
import Testing

/// Each test runs in its own process, because the number of loops is that of the process.
@Suite("The number of event loops")
struct LoopCountTests {
    @Test("One for each processor, but 64 at most", arguments: [(0, 1), (3, 3), (64, 64), (256, 64)])
    func automatic(processors: Int, loops: Int) async {
        await #expect(processExitsWith: .success) { [processors, loops] in
            let server = Server(
                configuration: .init(port: 0), logger: LiveServer.silentLogger, handler: immediate(LiveServer.echo))
            _ = try server.start(processors: processors)
            #expect(await server.loopDelays().count == loops)
            await server.shutdown(within: .zero)
        }
    }

    @Test("More than a process may have are an error of its own")
    func tooMany() async {
        await #expect(processExitsWith: .success) {
            let server = Server(
                configuration: .init(port: 0, loops: 200), logger: LiveServer.silentLogger,
                handler: immediate(LiveServer.echo))
            let error = #expect(throws: ServerError.self) { try server.start() }
            #expect(error?.code == .noEventLoop)
        }
    }
}
