import CarrierSimulator
import Crypto
import Foundation
import Primitives
import TestSupport
import Testing

/// `latchkey migrate`, `backup` and `restore` beside a server.
@Suite(.serialized) struct DatabaseCommandTests {
    private func fields(_ harness: AdminHarness) throws -> [String: String] {
        let verifier = RandomSource.system.token()
        let challenge = Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 })
        let code = try harness.simulator.issueCode(
            mccmnc: SignInHarness.mccmnc, clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
            codeChallenge: challenge)
        return [
            "client_id": SignInHarness.clientID, "code": code, "mccmnc": SignInHarness.mccmnc,
            "redirect_uri": SignInHarness.redirectURI,
            "code_verifier": verifier,
        ]
    }

    private func serve(_ harness: AdminHarness) async throws -> (LatchkeyProcess, App) {
        let process = try LatchkeyProcess(
            ["serve"], environment: harness.environment, directory: harness.directory.path)
        return (process, App(port: try await process.port(after: "listening"), apiKey: AdminHarness.apiKey))
    }

    @Test("A backup made during sign-ins can be restored after the server has stopped, and sign-ins continue")
    func backUpAndRestore() async throws {
        try await AdminHarness.with { harness in
            let (server, app) = try await serve(harness)
            let early = try #require(try await app.signIn(try fields(harness)).token)
            let codes = try (0..<120).map { _ in try fields(harness) }
            let backup = harness.directory.file("copy.db")
            async let made = harness.run(["backup", backup, "--format", "json"])
            let answers = try await withThrowingTaskGroup(of: [Int].self) { group in
                for worker in 0..<4 {
                    group.addTask {
                        var statuses: [Int] = []
                        for index in stride(from: worker, to: codes.count, by: 4) {
                            statuses.append(try await app.signIn(codes[index]).status)
                        }
                        return statuses
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(answers == Array(repeating: 200, count: 120))
            let ending = try await made
            #expect(ending.status == 0, "\(ending.output)")
            let report = try #require(try JSONValue(parsing: Array(ending.output.utf8)).object)
            #expect(report["file"]?.string == backup)
            #expect(try await harness.run(["backup", backup]).status == 1)
            #expect(try await harness.run(["backup", backup, "--force"]).status == 0)
            let late = try #require(try await app.signIn(try fields(harness)).token)

            let refused = try await harness.run(["restore", backup])
            #expect(refused.status == 1)
            #expect(refused.output.contains("stop the servers"))
            #expect(try await app.me(late).status == 200)
            server.send(SIGTERM)
            #expect(await server.ending().status == 0)

            let restored = try await harness.run(["restore", backup])
            #expect(restored.status == 0, "\(restored.output)")
            #expect(restored.output.contains("latchkey.db.before-restore-"))
            let (again, reborn) = try await serve(harness)
            #expect(try await reborn.me(early).status == 200)
            #expect(try await reborn.me(late).status == 401)
            #expect(try await reborn.signIn(try fields(harness)).status == 200)
            again.send(SIGTERM)
            #expect(await again.ending().status == 0)
        }
    }

    @Test("migrate reports pending and applied migrations, as text and as JSON")
    func migrate() async throws {
        try await AdminHarness.with { harness in
            let pending = try await harness.run(["migrate", "--check"])
            #expect(pending.status == 1)
            let names = [
                "35 all tables", "36 backchannel authentications", "37 former tables",
                "38 rows removed with their user", "39 webhooks", "40 events of sessions", "41 statistics",
            ]
            #expect(pending.output.contains("7 migrations pending:\n  \(names.joined(separator: "\n  "))\n"))
            #expect(!FileManager.default.fileExists(atPath: harness.directory.file("latchkey.db")))
            let done = try await harness.run(["migrate", "--format", "json"])
            #expect(done.status == 0)
            let report = try #require(try JSONValue(parsing: Array(done.output.utf8)).object)
            #expect(report["pending"]?.array?.isEmpty == true)
            #expect(report["database"]?.string == "sqlite:///\(harness.directory.file("latchkey.db"))")
            #expect(report["is_default"] == .bool(false))
            #expect(report["done"]?.array?.first?.string == "35 all tables")
            let after = try await harness.run(["migrate", "--check"])
            #expect(after.status == 0)
            #expect(after.output.contains("The tables are up to date."))
        }
    }

    @Test("Without a configuration migrate creates the default database and reports it as the default")
    func migrateByDefault() async throws {
        let directory = try TemporaryDirectory()
        func run(_ arguments: String...) async throws -> LatchkeyProcess.Ending {
            await (try LatchkeyProcess(["migrate"] + arguments, directory: directory.path)).ending()
        }
        let made = try await run()
        #expect(made.status == 0, "\(made.output)")
        #expect(made.output.hasPrefix("Database: sqlite:///latchkey.db, in the working directory."), "\(made.output)")
        #expect(made.output.contains("LATCHKEY_DATABASE_URL"))
        #expect(FileManager.default.fileExists(atPath: directory.file("latchkey.db")))
        let again = try await run("--format", "json")
        let report = try #require(try JSONValue(parsing: Array(again.output.utf8)).object)
        #expect(report["is_default"] == .bool(true))
    }

    @Test(
        "A failed command exits with status 1 and one line, wrong options with 64, a bad configuration with 78"
    )
    func endings() async throws {
        try await AdminHarness.with { harness in
            let text = try harness.write("no database", as: "text.db")
            for (arguments, words) in [
                (["backup", harness.directory.file("copy.db")], "there is no database"),
                (["restore", text], "not a database"),
                (["restore", harness.directory.file("none.db")], "no such file"),
            ] {
                let ending = try await harness.run(arguments)
                #expect(ending.status == 1)
                #expect(ending.output.hasPrefix("latchkey: "))
                #expect(ending.output.contains(words), "\(ending.output)")
                #expect(ending.output.split(separator: "\n").count == 1)
            }
            #expect(try await harness.run(["backup"]).status == 64)
            #expect(try await harness.run(["restore"]).status == 64)
            #expect(try await harness.run(["migrate", "--format", "xml"]).status == 64)
            #expect(
                try await harness.run(["migrate"], environment: ["LATCHKEY_HTTP_PORT": "x"]).status == 78)
        }
    }
}
