import CarrierSimulator
import Crypto
import Foundation
import Primitives
import TestSupport
import Testing

/// `latchkey copy`, for an operator who moves from SQLite to PostgreSQL.
@Suite(.serialized) struct CopyCommandTests {
    private func serve(_ harness: AdminHarness, _ url: String? = nil) async throws -> (LatchkeyProcess, App) {
        var environment = harness.environment
        if let url { environment["LATCHKEY_DATABASE_URL"] = url }
        let process = try LatchkeyProcess(["serve"], environment: environment, directory: harness.directory.path)
        return (process, App(port: try await process.port(after: "listening"), apiKey: AdminHarness.apiKey))
    }

    private func fields(_ harness: AdminHarness, user: String? = nil) throws -> [String: String] {
        let verifier = RandomSource.system.token()
        let code = try harness.simulator.issueCode(
            mccmnc: SignInHarness.mccmnc, clientID: SignInHarness.clientID, redirectURI: SignInHarness.redirectURI,
            codeChallenge: Base64URL.encode(SHA256.hash(data: Data(verifier.utf8)).map { $0 }))
        return [
            "client_id": SignInHarness.clientID, "code": code, "mccmnc": SignInHarness.mccmnc,
            "redirect_uri": SignInHarness.redirectURI,
            "code_verifier": verifier,
        ]
    }

    private func copy(_ harness: AdminHarness, _ arguments: String...) async throws -> LatchkeyProcess.Ending {
        // Without any configuration.
        let ending = await (try LatchkeyProcess(["copy"] + arguments, directory: harness.directory.path)).ending()
        for secret in ["s3cret%2F", PostgresCluster.password] { #expect(!ending.output.contains(secret)) }
        return ending
    }

    @Test("A copy from SQLite to PostgreSQL keeps sessions and accounts, and is refused while a server runs")
    func fromSQLite() async throws {
        try await AdminHarness.with { harness in
            let url = try PostgresCluster.shared().makeSchema()
            let target = try harness.write(url + "\n", as: "url")
            let (server, app) = try await serve(harness)
            let signedIn = try await app.signIn(try fields(harness))
            let token = try #require(signedIn.token)
            let me = try await app.me(token)
            let busy = try await copy(harness, "--from", "sqlite:///latchkey.db", "--to-file", target)
            #expect(busy.status == 1)
            #expect(busy.output.contains("servers have the source open; stop all"), "\(busy.output)")
            server.send(SIGTERM)
            #expect(await server.ending().status == 0)

            let done = try await copy(
                harness, "--from", "sqlite:///latchkey.db", "--to-file", target, "--format", "json")
            #expect(done.status == 0, "\(done.output)")
            let line = try #require(done.output.split(separator: "\n").last)
            let report = try #require(try JSONValue(parsing: Array(line.utf8)).object)
            #expect(report["from"]?.string == "sqlite:///latchkey.db")
            let tables = try #require(report["tables"]?.array).compactMap(\.object)
            #expect(tables.first?["name"]?.string == "users")
            #expect(tables.first?["rows"]?.integer == 1)

            let (second, reborn) = try await serve(harness, url)
            let again = try await reborn.me(token)
            #expect(again.status == 200)
            #expect(again.json["user_id"] == me.json["user_id"])
            #expect(try await reborn.refresh(try #require(signedIn.refreshToken)).status == 200)
            let newer = try await reborn.signIn(try fields(harness))
            #expect(newer.status == 200)
            let other = try await copy(harness, "--from-file", target, "--to", "sqlite:///back.db")
            #expect(other.status == 1)
            #expect(other.output.contains("servers have the source open"), "\(other.output)")
            second.send(SIGTERM)
            #expect(await second.ending().status == 0)

            let twice = try await copy(harness, "--from", "sqlite:///latchkey.db", "--to-file", target)
            #expect(twice.status == 1)
            #expect(twice.output.contains("the target is not empty"), "\(twice.output)")
            let back = try await copy(harness, "--from-file", target, "--to", "sqlite:///back.db")
            #expect(back.status == 0, "\(back.output)")
            #expect(back.output.contains("read back and compared"), "\(back.output)")
            let (third, home) = try await serve(harness, "sqlite:///back.db")
            #expect(try await home.me(try #require(newer.token)).status == 200)
            third.send(SIGTERM)
            #expect(await third.ending().status == 0)
        }
    }

    @Test("Wrong options exit with status 64, and no output shows a password")
    func options() async throws {
        try await AdminHarness.with { harness in
            let file = "sqlite:///latchkey.db"
            for (arguments, words) in [
                ([], "give either --from or --from-file"), (["--from", file], "give either --to or --to-file"),
                (["--from", file, "--from-file", "x", "--to", file], "give either --from or --from-file"),
                (["--from", "mysql://root:s3cret%2F@host/db", "--to", file], "--from: is not a database URL"),
                (["--from", file, "--to", "postgres://me:s3cret%2F@ho st/db"], "--to: is not a PostgreSQL URL"),
                (["--from", file, "--to-file", harness.directory.file("none")], "--to-file cannot be read"),
            ] {
                let ending = await (try LatchkeyProcess(["copy"] + arguments)).ending()
                #expect(ending.status == 64)
                #expect(ending.output.contains(words), "\(ending.output)")
                #expect(!ending.output.contains("s3cret"), "\(ending.output)")
            }
            let gone = "postgres://me:s3cret%2F@127.0.0.1:1/latchkey"
            #expect(try await harness.run(["migrate"]).status == 0)
            let unreachable = try await copy(harness, "--from", file, "--to", gone)
            #expect(unreachable.status == 1)
            #expect(unreachable.output.contains("the target: "), "\(unreachable.output)")
        }
    }
}
