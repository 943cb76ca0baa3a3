import CarrierSimulator
import Foundation
import TestSupport
import Testing

/// A server process that is stopped for longer than all its timeouts, as a virtual machine is while it moves.
@Suite(.serialized) struct PausedProcessTests {
    enum Database: String, CaseIterable, CustomTestStringConvertible {
        case sqlite = "SQLite"
        case postgres = "PostgreSQL"

        var testDescription: String { rawValue }
    }

    @Test(
        "After a pause what came meanwhile is served, no timeout fires for it, and no session is lost",
        arguments: Database.allCases)
    func paused(database: Database) async throws {
        try await AdminHarness.with { harness in
            var environment = harness.environment
            for name in ["HTTP_TIMEOUTS_IDLE", "HTTP_TIMEOUTS_HEADER", "OUTBOUND_TIMEOUTS_TOKEN"] {
                environment["LATCHKEY_" + name] = "2s"
            }
            if database == .postgres {
                environment["LATCHKEY_DATABASE_URL"] = try PostgresCluster.shared().makeSchema()
                environment["LATCHKEY_DATABASE_STATEMENT_TIMEOUT"] = "2s"
            }
            let process = try LatchkeyProcess(["serve"], environment: environment)
            let app = App(port: try await process.port(after: "listening"), apiKey: AdminHarness.apiKey)
            var tokens: [String] = []
            for _ in 0..<5 { tokens.append(try #require(try await app.signIn(harness.authorizedResponse()).token)) }

            // Sign-ins whose carrier responds during the pause: as many as open a circuit breaker.
            let simulator = harness.simulator
            let posts = simulator.log.tokenPosts()
            simulator.update(SignInHarness.mccmnc) { $0.delay = .milliseconds(700) }
            simulator.setFaults([.tokenSlow], for: SignInHarness.mccmnc)
            async let waiting = withThrowingTaskGroup(of: App.Answer.self) { group in
                for _ in 0..<5 {
                    let fields = try harness.authorizedResponse()
                    group.addTask { try await app.signIn(fields) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try await until { simulator.log.tokenPosts() == posts + 5 }
            // Connections that wait for their next request. They are made last, because the server closes them after
            // two seconds.
            var idle: [RawClient] = []
            for _ in tokens { idle.append(try await RawClient(port: app.port, limit: .seconds(60))) }
            process.send(SIGSTOP)
            for (client, token) in zip(idle, tokens) {
                try await client.send(
                    "GET /users/me HTTP/1.1\r\nHost: 127.0.0.1:\(app.port)\r\nX-API-KEY: \(AdminHarness.apiKey)\r\n"
                        + "Authorization: Bearer \(token)\r\n\r\n")
            }
            // The pause is what is tested: longer than every timeout.
            try await Task.sleep(for: .seconds(5))
            simulator.setFaults([], for: SignInHarness.mccmnc)
            process.send(SIGCONT)

            for client in idle {
                #expect(try await client.readResponse().status == 200)
                await client.close()
            }
            for answer in try await waiting {
                #expect(answer.status == 200, "\(answer.response.text)")
                tokens.append(try #require(answer.token))
            }
            tokens.append(try #require(try await app.signIn(harness.authorizedResponse()).token))
            for token in tokens { #expect(try await app.me(token).status == 200) }
            #expect(try await app.send("GET", "/readyz").status == 200)
            #expect(!process.said.contains("timed_out"), "\(process.said)")
            process.send(SIGTERM)
            #expect(await process.ending().status == 0)
        }
    }
}
