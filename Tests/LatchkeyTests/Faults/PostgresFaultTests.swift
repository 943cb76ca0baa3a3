import CarrierSimulator
import Foundation
import LatchkeyConfiguration
import LatchkeyService
import Primitives
import TestSupport
import Testing

/// Faults of the PostgreSQL server under a running Latchkey.
@Suite(.serialized) struct PostgresFaultTests {
    /// A server of Latchkey on a database.
    private struct Server: Sendable {
        let harness: AdminHarness
        let process: LatchkeyProcess
        let app: App

        func signIn(_ fields: [String: String]? = nil) async throws -> App.Answer {
            try await app.signIn(fields ?? harness.authorizedResponse())
        }

        /// Waits for a sign-in after a fault; returns its token.
        func recover(from fault: String) async throws -> String {
            let began = ContinuousClock.now
            var token: String?
            try await until {
                token = try await signIn().token
                return token != nil
            }
            // For docs/reports/faults.md.
            print(
                "PostgreSQL, \(fault): the first sign-in came \(ContinuousClock.now - began) after the fault's end"
            )
            return try #require(token)
        }
    }

    private func withServer(on url: String, _ body: (Server) async throws -> Void) async throws {
        try await AdminHarness.with { harness in
            let change = ["LATCHKEY_DATABASE_URL": url, "LATCHKEY_DATABASE_STATEMENT_TIMEOUT": "3s"]
            let process = try LatchkeyProcess(
                ["serve"], environment: harness.environment.merging(change) { $1 })
            let app = App(port: try await process.port(after: "listening"), apiKey: AdminHarness.apiKey)
            try await body(Server(harness: harness, process: process, app: app))
            process.send(SIGTERM)
            #expect(await process.ending().status == 0)
        }
    }

    private func expectRefusal(_ answer: App.Answer, _ call: String) {
        #expect(answer.status == 503, "\(call)")
        #expect(answer.error == "temporarily_unavailable", "\(call)")
        #expect(answer.response["retry-after"] != nil, "\(call)")
    }

    /// Waits for programs on a thread of its own.
    private static func offThread(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    @Test(
        "A sign-in whose connection is cut anywhere is neither lost nor done twice when the app repeats it",
        arguments: [1, 2, 3, 4], PostgresRelay.Cut.allCases)
    func cut(roundTrip: Int, cut: PostgresRelay.Cut) async throws {
        let cluster = try PostgresCluster.shared()
        let relay = try PostgresRelay(to: cluster.port)
        let direct = try cluster.makeSchema()
        try await withServer(on: direct.replacing(":\(cluster.port)/", with: ":\(relay.port)/")) { server in
            let first = try #require(try await server.signIn().token)
            let fields = try server.harness.authorizedResponse()
            relay.cut(cut, atRoundTrip: roundTrip)
            var answer = try await server.signIn(fields)
            var isUnknown = false
            for _ in 0..<30 where answer.status == 503 {
                isUnknown = true
                expectRefusal(answer, "a sign-in")
                answer = try await server.signIn(fields)
            }
            var acknowledged = [first]
            if let token = answer.token {
                acknowledged.append(token)
            } else {
                // Nothing was stored, and the code was spent: the app begins again.
                #expect(isUnknown)
                #expect(answer.error == "invalid_grant")
                #expect(try cluster.execute("SELECT count(*) FROM sessions", on: direct) == "1")
                acknowledged.append(try #require(try await server.signIn().token))
            }
            for token in acknowledged { #expect(try await server.app.me(token).status == 200) }
            #expect(try cluster.execute("SELECT count(*) FROM users", on: direct) == "1")
            #expect(server.harness.simulator.log.tokenPosts() == (answer.token == nil ? 3 : 2))
            // The token of a session that was stored without an answer is not known: the app gets another session.
            let sessions = try cluster.execute("SELECT count(*) FROM sessions", on: direct)
            #expect(sessions == "2" || (isUnknown && answer.token != nil && sessions == "3"))
        }
    }

    @Test("While the server hangs calls are answered 503, and all works again when it goes on")
    func hung() async throws {
        let cluster = try PostgresCluster()
        try await withServer(on: cluster.makeSchema()) { server in
            let token = try #require(try await server.signIn().token)
            try cluster.send(SIGSTOP)
            let refusals = try await withThrowingTaskGroup(of: App.Answer.self) { group in
                for _ in 0..<8 { group.addTask { try await server.signIn() } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for refusal in refusals { expectRefusal(refusal, "a sign-in") }
            expectRefusal(try await server.app.signOut(token), "a sign-out")
            #expect(try await server.app.send("GET", "/readyz").status == 503)
            #expect(try await server.app.send("GET", "/healthz").status == 200)
            try cluster.send(SIGCONT)
            let later = try await server.recover(from: "hung")
            for token in [token, later] { #expect(try await server.app.me(token).status == 200) }
            #expect(try await server.app.signOut(token).status == 200)
            #expect(try await server.app.me(token).status == 401)
        }
    }

    @Test("While the server accepts no connections calls are answered 503, and later served again")
    func tooManyConnections() async throws {
        let cluster = try PostgresCluster()
        try cluster.execute("CREATE ROLE few LOGIN PASSWORD 'few'")
        try cluster.execute("CREATE SCHEMA few AUTHORIZATION few")
        let url =
            "postgres://few:few@127.0.0.1:\(cluster.port)/postgres?sslmode=disable&options=-csearch_path%3Dfew"
        // Waits until the connections have ended.
        let end = "SELECT count(pg_terminate_backend(pid, 30000)) FROM pg_stat_activity WHERE usename = 'few'"
        try await withServer(on: url) { server in
            let token = try #require(try await server.signIn().token)
            try cluster.execute("ALTER ROLE few CONNECTION LIMIT 0")
            try cluster.execute(end)
            for _ in 0..<3 { expectRefusal(try await server.signIn(), "a sign-in") }
            expectRefusal(try await server.app.signOut(token), "a sign-out")
            #expect(try await server.app.send("GET", "/readyz").status == 503)
            try cluster.execute("ALTER ROLE few CONNECTION LIMIT 4")
            let later = try await server.recover(from: "too many connections")
            for token in [token, later] { #expect(try await server.app.me(token).status == 200) }
        }
    }

    /// The server reports a full disk as this error, and rolls the transaction back.
    @Test("What the server refuses because its disk is full is answered 503, and later served")
    func fullDisk() async throws {
        let cluster = try PostgresCluster.shared()
        let url = try cluster.makeSchema()
        try await withServer(on: url) { server in
            let token = try #require(try await server.signIn().token)
            try cluster.execute(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END$$;
                CREATE TRIGGER refuse BEFORE INSERT OR UPDATE OR DELETE ON sessions EXECUTE FUNCTION refuse();
                """, on: url)
            for _ in 0..<3 { expectRefusal(try await server.signIn(), "a sign-in") }
            expectRefusal(try await server.app.signOut(token), "a sign-out")
            #expect(try await server.app.me(token).status == 200)
            try cluster.execute("DROP TRIGGER refuse ON sessions", on: url)
            let later = try await server.recover(from: "full disk")
            for token in [token, later] { #expect(try await server.app.me(token).status == 200) }
            #expect(try await server.app.signOut(token).status == 200)
        }
    }

    @Test(
        "After a failover to a standby all acknowledged sessions exist, and sign-ins continue without a restart"
    )
    func failover() async throws {
        let primary = try PostgresCluster()
        let schema = "test_failover"
        try primary.execute("CREATE SCHEMA \(schema)")
        let standby = try PostgresCluster(following: primary)
        let url = primary.url(schema: schema).replacing(
            "127.0.0.1:\(primary.port)", with: "127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)")
        try await withServer(on: url + "&target_session_attrs=read-write") { server in
            var tokens: [String] = []
            for _ in 0..<20 { tokens.append(try #require(try await server.signIn().token)) }
            let ended = tokens.removeLast()
            #expect(try await server.app.signOut(ended).status == 200)
            // Under load, so that the end comes at any moment.
            let app = server.app
            async let load = withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var tokens: [String] = []
                        for _ in 0..<200 {
                            let answer = try await app.signIn(server.harness.authorizedResponse())
                            guard let token = answer.token else { break }
                            tokens.append(token)
                        }
                        return tokens
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            try await until {
                try primary.execute("SELECT count(*) > 40 FROM \(schema).sessions") == "t"
            }
            try await Self.offThread { try primary.stop(.killed) }
            expectRefusal(try await server.signIn(), "a sign-in")
            tokens += try await load
            try await Self.offThread { try standby.promote() }
            try standby.execute("ALTER SYSTEM RESET synchronous_standby_names")
            try standby.execute("SELECT pg_reload_conf()")
            tokens.append(try await server.recover(from: "failover"))
            var lost = 0
            for token in tokens where try await server.app.me(token).status != 200 { lost += 1 }
            #expect(lost == 0)
            #expect(try await server.app.me(ended).status == 401)
        }
    }

    @Test(
        "Instances whose clocks differ by minutes share sessions", arguments: [-300, 300] as [Int64])
    func clocks(difference: Int64) async throws {
        let database = try #require(PostgresURL(Secret(try PostgresCluster.shared().makeSchema())))
        let now = Int64(Date().timeIntervalSince1970)
        try await SignInHarness.with(configure: { $0.database.url = .postgres(database) }) { harness in
            let clock = ManualClock(secondsSinceEpoch: now + difference)
            try await harness.withInstance(clock: clock.wallClock) { other, _ in
                let signedIn = try await harness.app.signIn(harness.authorizedResponse())
                let (token, refresh) = (try #require(signedIn.token), try #require(signedIn.refreshToken))
                #expect(try await other.me(token).status == 200)
                let refreshed = try #require(try await other.refresh(refresh).token)
                for app in [harness.app, other] { #expect(try await app.me(refreshed).status == 200) }
                #expect(try await harness.app.signOut(refreshed).status == 200)
                for app in [harness.app, other] {
                    try await until { try await app.me(refreshed).status == 401 }
                }
            }
        }
    }
}
