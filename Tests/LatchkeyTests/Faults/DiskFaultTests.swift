import CarrierSimulator
import Foundation
import Synchronization
import TestSupport
import Testing

/// A disk that refuses the server's calls, or is slow, while users sign in.
@Suite(.serialized) struct DiskFaultTests {
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let faults: FaultyDisk.Faults

        /// Those that no write survives.
        static let refusing = [
            Fault("full", .init(concerned: .all, room: 0)),
            Fault("nearly full", .init(concerned: .all, room: 10_000)),
            Fault("read-only", .init(concerned: .all, writeError: EROFS)),
            Fault("errors on writing", .init(concerned: .all, writeError: EIO)),
            Fault("errors on syncing", .init(concerned: .all, syncError: EIO)),
        ]

        private init(_ testDescription: String, _ faults: FaultyDisk.Faults) {
            (self.testDescription, self.faults) = (testDescription, faults)
        }
    }

    /// A server on a faulty disk, with a signed-in user.
    private struct Server: Sendable {
        let harness: AdminHarness
        let disk: FaultyDisk
        let process: LatchkeyProcess
        let app: App

        func signIn() async throws -> App.Answer { try await app.signIn(harness.authorizedResponse()) }

        /// Ends the fault, waits for a sign-in, and prints how long it took.
        func recover(from fault: String) async throws {
            disk.set(.init())
            let began = ContinuousClock.now
            try await until { try await signIn().status == 200 }
            // For docs/reports/faults.md.
            print(
                "disk, \(fault): the first sign-in succeeded \(ContinuousClock.now - began) after the fault's end"
            )
        }
    }

    private func withServer(_ body: (Server) async throws -> Void) async throws {
        try await AdminHarness.with { harness in
            let disk = try FaultyDisk(harness.directory.path)
            let server = try await serve(harness, disk)
            try await body(server)
            disk.set(.init())
            server.process.send(SIGTERM)
            #expect(await server.process.ending().status == 0)
            let path = harness.directory.file("latchkey.db")
            #expect(try DatabaseProbe(path: path).texts("PRAGMA integrity_check") == ["ok"])
        }
    }

    private func serve(_ harness: AdminHarness, _ disk: FaultyDisk) async throws -> Server {
        let process = try LatchkeyProcess(
            ["serve"], environment: harness.environment.merging(disk.environment) { $1 },
            directory: harness.directory.path)
        let app = App(port: try await process.port(after: "listening"), apiKey: AdminHarness.apiKey)
        return Server(harness: harness, disk: disk, process: process, app: app)
    }

    private func expectRefusal(_ answer: App.Answer, _ call: String) {
        #expect(answer.status == 503, "\(call)")
        #expect(answer.error == "temporarily_unavailable", "\(call)")
        #expect(answer.response["retry-after"] == "5", "\(call)")
    }

    @Test(
        "What the disk refuses is answered 503 and not stored, and all works again at its end",
        arguments: Fault.refusing)
    func refusing(fault: Fault) async throws {
        try await withServer { server in
            let first = try await server.signIn()
            let (token, refresh) = (try #require(first.token), try #require(first.refreshToken))
            server.disk.set(fault.faults)
            // What fits on a disk that is nearly full is stored.
            var stored: [String] = []
            while let token = try await server.signIn().token {
                stored.append(token)
                try #require(stored.count < 20)
            }
            for _ in 0..<3 { expectRefusal(try await server.signIn(), "a sign-in") }
            expectRefusal(try await server.app.refresh(refresh), "a refresh")
            expectRefusal(try await server.app.signOut(token), "a sign-out")
            #expect(server.disk.met > 0)
            // Reads go on, and with them session checks.
            for token in stored + [token] { #expect(try await server.app.me(token).status == 200) }
            #expect(try await server.app.send("GET", "/readyz").status == 200)
            #expect(try await server.app.send("GET", "/healthz").status == 200)

            try await server.recover(from: fault.testDescription)
            #expect(try await server.app.me(token).status == 200)
            let refreshed = try #require(try await server.app.refresh(refresh).token)
            #expect(try await server.app.signOut(refreshed).status == 200)
            for token in [token, refreshed] { #expect(try await server.app.me(token).status == 401) }
            for token in stored { #expect(try await server.app.me(token).status == 200) }
        }
    }

    // The log's index is made anew in the space that it had.
    @Test(
        "After a kill, a server starts on a disk that refuses writes, and reads the sessions",
        arguments: [
            .init(concerned: FaultyDisk.Files.all.subtracting(.index), room: 0),
            .init(concerned: FaultyDisk.Files.all.subtracting(.index), writeError: EIO),
            .init(concerned: .all, syncError: EIO),
        ] as [FaultyDisk.Faults])
    func start(faults: FaultyDisk.Faults) async throws {
        try await AdminHarness.with { harness in
            let disk = try FaultyDisk(harness.directory.path)
            let former = try await serve(harness, disk)
            var tokens: [String] = []
            for _ in 0..<8 { tokens.append(try #require(try await former.signIn().token)) }
            disk.set(faults)
            former.process.send(SIGKILL)
            _ = await former.process.ending()

            let server = try await serve(harness, disk)
            #expect(server.process.said.contains("the database refuses writes until its disk works"))
            for token in tokens { #expect(try await server.app.me(token).status == 200) }
            for _ in 0..<3 { expectRefusal(try await server.signIn(), "a sign-in") }
            #expect(try await server.app.send("GET", "/readyz").status == 200)
            try await server.recover(from: "refusing writes at the start")
            server.process.send(SIGTERM)
            #expect(await server.process.ending().status == 0)
        }
    }

    @Test("A sign-in waits for a slow disk, and session checks do not")
    func slow() async throws {
        try await withServer { server in
            let token = try #require(try await server.signIn().token)
            // Until the test ends the fault.
            server.disk.set(.init(concerned: .all, syncMilliseconds: 60_000))
            let hasAnswered = Mutex(false)
            async let slow = {
                let answer = try await server.signIn()
                hasAnswered.withLock { $0 = true }
                return answer.status
            }()
            try await until { server.disk.met > 0 }
            #expect(try await server.app.me(token).status == 200)
            // The readiness check waits for the writing connection, and not for long.
            #expect(try await server.app.send("GET", "/readyz").status == 503)
            let isEarly = hasAnswered.withLock { $0 }
            #expect(!isEarly, "the sign-in did not wait")
            server.disk.set(.init())
            #expect(try await slow == 200)
            try await server.recover(from: "slow syncs")
        }
    }

    @Test(
        "A database that cannot be read is unavailable, signs no user out, and is read again at the fault's end"
    )
    func reading() async throws {
        try await AdminHarness.with { harness in
            let disk = try FaultyDisk(harness.directory.path)
            let former = try await serve(harness, disk)
            var tokens: [String] = []
            for _ in 0..<8 { tokens.append(try #require(try await former.signIn().token)) }
            former.process.send(SIGTERM)
            _ = await former.process.ending()

            // A server that has not read the sessions yet.
            let server = try await serve(harness, disk)
            disk.set(.init(concerned: .all, readError: EIO))
            for token in tokens { expectRefusal(try await server.app.me(token), "a session check") }
            expectRefusal(try await server.signIn(), "a sign-in")
            #expect(try await server.app.send("GET", "/readyz").status == 503)
            try await server.recover(from: "errors on reading")
            for token in tokens { #expect(try await server.app.me(token).status == 200) }
            server.process.send(SIGTERM)
            #expect(await server.process.ending().status == 0)
        }
    }
}
