import CarrierSimulator
import Crypto
import Foundation
import Primitives
import Synchronization
import TestSupport
import Testing

/// SIGTERM while users sign in.
@Suite(.serialized) struct ShutdownUnderLoadTests {
    /// A sign-in that an app sent, with its times and its result.
    private struct Attempt: Sendable {
        let sent: ContinuousClock.Instant
        let ended: ContinuousClock.Instant
        /// Nil without a response.
        let status: Int?
    }

    private func request(_ harness: AdminHarness, _ port: UInt16) throws -> String {
        let verifier = RandomSource.system.token()
        let challenge = Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 })
        let code = try harness.simulator.issueCode(
            mccmnc: SignInHarness.mccmnc, clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
            codeChallenge: challenge)
        let body = App.json([
            "client_id": SignInHarness.clientID, "code": code, "mccmnc": SignInHarness.mccmnc,
            "redirect_uri": SignInHarness.redirectURI,
            "code_verifier": verifier,
        ])
        return "POST /auth/zenkey-signin HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nX-API-KEY: \(AdminHarness.apiKey)\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n" + body
    }

    /// Sends requests one after the other until one fails, each on its own connection or all on one.
    private func send(_ requests: [String], to port: UInt16, keepsConnection: Bool, _ answered: () -> Void) async
        -> [Attempt]
    {
        var (attempts, client): ([Attempt], RawClient?) = ([], nil)
        for request in requests {
            do {
                if client == nil { client = try await RawClient(port: port, limit: .seconds(60)) }
                guard let connection = client else { break }
                try await connection.send(request)
                let sent = ContinuousClock.now
                let status = try? await connection.readResponse().status
                attempts.append(Attempt(sent: sent, ended: .now, status: status))
                if status == nil { break }
                answered()
                if !keepsConnection {
                    await connection.close()
                    client = nil
                }
            } catch {
                // The server no longer listens.
                break
            }
        }
        await client?.close()
        return attempts
    }

    /// The time of an event, once it has happened.
    private final class Moment: Sendable {
        private let moment = Mutex<ContinuousClock.Instant?>(nil)

        var noted: ContinuousClock.Instant? { moment.withLock { $0 } }

        func note() { moment.withLock { $0 = .now } }
    }

    @Test("Every request sent before SIGTERM gets its response, and the process exits with status 0")
    func drains() async throws {
        try await AdminHarness.with { harness in
            let process = try LatchkeyProcess(
                ["serve"], environment: harness.environment, directory: harness.directory.path)
            let port = try await process.port(after: "listening")
            // Keeps many requests in flight at any moment.
            harness.simulator.update(SignInHarness.mccmnc) {
                $0.delay = .milliseconds(300)
                $0.faults = [.tokenSlow]
            }
            let answered = CallCounter()
            let requests = try (0..<24).map { _ in try (0..<40).map { _ in try self.request(harness, port) } }
            let told = Moment()
            let attempts = await withTaskGroup(of: [Attempt].self) { group in
                for (number, requests) in requests.enumerated() {
                    group.addTask {
                        await self.send(requests, to: port, keepsConnection: number.isMultiple(of: 2)) {
                            guard answered.increment() == 60 else { return }
                            told.note()
                            process.send(SIGTERM)
                        }
                    }
                }
                return await group.reduce(into: []) { $0 += $1 }
            }
            let moment = try #require(told.noted)
            let ending = await process.ending()
            #expect(ending.status == 0)
            #expect(!ending.output.contains("closed connections"))
            let before = attempts.filter { $0.sent < moment }
            #expect(before.count { $0.ended > moment } >= 8, "too few were under way to show anything")
            // For a slow machine so many are an overload, which has a response, too.
            let responses = ending.output.contains("overloaded: ") ? [200, 503] : [200]
            #expect(before.allSatisfy { responses.contains($0.status ?? 0) })
            // Later requests get a complete response or none.
            #expect(attempts.allSatisfy { responses.contains($0.status ?? 200) })
            #expect(attempts.count < 24 * 40)
        }
    }
}
