import Foundation
import Primitives
import TestSupport
import Testing

/// The audit log of the built server, which is started, reloaded, stopped and killed.
@Suite(.serialized) struct AuditServerTests {
    private static let encryptionKeys = ["LATCHKEY_ENCRYPTION_KEYS": String(repeating: "1f", count: 32)]

    private struct Event: Sendable {
        let kind: String
        let details: JSONObject
    }

    private func events(
        _ harness: AdminHarness, _ environment: [String: String], _ arguments: [String] = []
    ) async throws -> [Event] {
        let ending = try await harness.run(
            ["audit", "--format", "json", "--limit", "10000"] + arguments, environment: environment)
        #expect(ending.status == 0, "\(ending.output)")
        return try ending.output.split(separator: "\n").map { line in
            let event = try #require(try JSONValue(parsing: Array(line.utf8)).object)
            return Event(
                kind: try #require(event["kind"]?.string), details: try #require(event["details"]?.object))
        }
    }

    @Test(
        "Starts, reloads, keys and stops are recorded and sealed; sign-ins only if they are to be",
        arguments: [true, false])
    func recorded(signIns: Bool) async throws {
        try await AdminHarness.with { harness in
            func write(_ text: String) throws {
                _ = try harness.write("audit: {sign_ins: \(signIns)}\n\(text)", as: "latchkey.yaml")
            }
            func start() async throws -> (LatchkeyProcess, App) {
                let process = try LatchkeyProcess(
                    ["serve", "--config", harness.directory.file("latchkey.yaml")],
                    environment: harness.environment.merging(Self.encryptionKeys) { $1 },
                    directory: harness.directory.path)
                return (process, App(port: try await process.port(after: "listening"), apiKey: AdminHarness.apiKey))
            }
            try write("log: {level: info}\n")
            let (process, app) = try await start()
            #expect(try await app.signIn(try harness.authorizedResponse()).status == 200)
            try write("log: {level: verbose}\nid_token: {clock_skew: 5s}\n")
            process.send(SIGHUP)
            _ = try await process.wait { $0.contains("in effect only from the next start") ? true : nil }
            process.send(SIGTERM)
            #expect(await process.ending().status == 0)

            let recorded = try await events(harness, Self.encryptionKeys)
            let expected =
                ["configuration.reloaded", "server.started", "server.stopped"]
                + (signIns ? ["session.created"] : []) + ["signing_key.created"]
            #expect(recorded.map(\.kind).sorted() == expected)
            #expect(recorded.last?.kind == "server.stopped")
            let started = try #require(recorded.first { $0.kind == "server.started" }).details
            let reloaded = try #require(recorded.first { $0.kind == "configuration.reloaded" }).details
            #expect(started["version"]?.string?.isEmpty == false)
            #expect(started["configuration"]?.string?.count == 64)
            #expect(started["configuration"] != reloaded["configuration"])
            #expect(reloaded["applied"]?.array?.map(\.string) == ["log.level"])
            #expect(reloaded["pending"]?.array?.map(\.string) == ["id_token.clock_skew"])
            let verified = try await harness.run(["audit", "verify"], environment: Self.encryptionKeys)
            #expect(verified.status == 0, "\(verified.output)")
            #expect(verified.output.contains("\(expected.count) events, seals 1 to"), "\(verified.output)")
            #expect(verified.output.contains("0 events are not sealed yet."), "\(verified.output)")

            // The configuration of the reload is that of the next start.
            let (next, _) = try await start()
            next.send(SIGTERM)
            #expect(await next.ending().status == 0)
            let starts = try await events(harness, Self.encryptionKeys, ["--kind", "server.started"])
            #expect(starts.map { $0.details["configuration"] } == [started, reloaded].map { $0["configuration"] })
        }
    }

    @Test(
        "Servers that are killed while they seal and sign in leave a log that verifies, with every answered sign-in",
        arguments: [false, true])
    func killed(isPostgres: Bool) async throws {
        try await AdminHarness.with { harness in
            let url = isPostgres ? try PostgresCluster.shared().makeSchema() : nil
            var environment = harness.environment.merging(Self.encryptionKeys) { $1 }
            environment["LATCHKEY_AUDIT_SIGN_INS"] = "true"
            if let url { environment["LATCHKEY_DATABASE_URL"] = url }
            harness.addUsers(20)
            #expect(try await harness.run(["migrate"], environment: environment).status == 0)
            func number(_ sql: String) throws -> Int {
                if let url { return Int(try PostgresCluster.shared().execute(sql, on: url)) ?? 0 }
                return Int(try DatabaseProbe(path: harness.directory.file("latchkey.db")).number(sql))
            }
            var answered = 0
            for round in AllRows.areRun ? Array(0..<5) : [0, 2, 4] {
                try addPlainEvents(3000, harness, url)
                let seals = try number("SELECT count(*) FROM audit_seals")
                let processes = try (0..<(isPostgres ? 2 : 1)).map { _ in
                    try LatchkeyProcess(["serve"], environment: environment)
                }
                for process in processes {
                    let app = App(port: try await process.port(after: "listening"), apiKey: AdminHarness.apiKey)
                    let fields = try harness.authorizedResponse(of: "user-\(answered)")
                    #expect(try await app.signIn(fields).status == 200)
                    answered += 1
                }
                try await until { try number("SELECT count(*) FROM audit_seals") >= seals + round / 2 }
                for process in processes { process.send(SIGKILL) }
                for process in processes { _ = await process.ending() }
                let verified = try await harness.run(["audit", "verify"], environment: environment)
                #expect(verified.status == 0, "\(verified.output)")
                let signIns = try number("SELECT count(*) FROM audit_events WHERE kind = 'session.created'")
                #expect(signIns == answered)
            }
            let last = try LatchkeyProcess(["serve"], environment: environment)
            _ = try await last.port(after: "listening")
            last.send(SIGTERM)
            #expect(await last.ending().status == 0)
            let verified = try await harness.run(["audit", "verify"], environment: environment)
            #expect(verified.status == 0)
            #expect(verified.output.contains("0 events are not sealed yet."), "\(verified.output)")
        }
    }

    /// Adds events as a version without seals did.
    private func addPlainEvents(_ count: Int, _ harness: AdminHarness, _ url: String?) throws {
        let insert = """
            INSERT INTO audit_events (time, kind, user_id, actor, details)
            WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            SELECT 1800000000, 'test.done', i, 'user', '{}' FROM n
            """
        if let url {
            try PostgresCluster.shared().execute(insert, on: url)
        } else {
            try DatabaseProbe(path: harness.directory.file("latchkey.db")).change(insert)
        }
    }
}
