import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Primitives
import SignIn
import TestSupport
import Testing

/// At most sixteen clients can watch the operator's status stream.
@Suite struct StatusWatcherTests {
    @Test("Of concurrent watchers sixteen get events, and the others are disconnected")
    func together() async throws {
        let app = try TestApp()
        var pages = OperatorPages()
        let beginning = Timestamp(secondsSinceEpoch: 0)
        pages.status = { ServiceStatus(version: "1", startedAt: beginning, now: beginning) }
        let handler = LatchkeyAPI(
            useCases: app.useCases, apiKeys: APIKeys([]), operatorPages: pages, logger: app.log.logger
        ).handler()
        // All were admitted before the first was counted.
        let gate = Gate()
        let server = Server(
            configuration: ServerConfiguration(hosts: ["127.0.0.1"], port: 0, loops: 1), logger: app.log.logger
        ) { request in
            let response = try await handler(request)
            await gate.pass()
            return response
        }
        let port = try server.start()[0].port
        do {
            try await watch(at: port, gate)
        } catch {
            await server.shutdown(within: .zero)
            throw error
        }
        await server.shutdown(within: .zero)
    }

    private func watch(at port: UInt16, _ gate: Gate) async throws {
        var clients: [RawClient] = []
        for _ in 0..<19 {
            let client = try await RawClient(port: port, limit: .seconds(60))
            try await client.send("GET /status/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            clients.append(client)
        }
        await gate.untilWaiting(clients.count)
        gate.open()
        var told = 0
        for client in clients {
            #expect(try await client.readUntil("\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
            do throws(RawClient.Failure) {
                _ = try await client.readUntil("\n\n")
                told += 1
            } catch {
                guard case .closed(received: []) = error else { throw error }
            }
        }
        #expect(told == 16)
        for client in clients { await client.close() }
    }
}
