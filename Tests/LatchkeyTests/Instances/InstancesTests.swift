import Foundation
import TestSupport
import Testing

/// Three instances on one PostgreSQL behind nginx, configured as in Config/nginx.
@Suite(.serialized) struct InstancesTests {
    /// Checks that every acknowledged session is valid on every instance, and that no ended session is.
    private func hold(_ tally: InstancesLoad.Tally, on harness: InstancesHarness) async throws {
        #expect(tally.problems.isEmpty, "\(tally.summary)\n\(harness.proxy.log)")
        #expect(!tally.live.isEmpty && !tally.over.isEmpty)
        let lost = try await withThrowingTaskGroup(of: [String].self) { group in
            for (number, address) in harness.addresses.enumerated() {
                group.addTask {
                    var (line, lost): (AppConnection, [String]) = (AppConnection(to: address), [])
                    for token in tally.live {
                        let status = try await line.send("GET", "/users/me", token: token).status
                        if status != 200 { lost.append("instance \(number): \(status)") }
                    }
                    for token in tally.over {
                        // An instance without the notification caches the session for five more seconds.
                        try await until {
                            try await line.send("GET", "/users/me", token: token).status == 401
                        }
                    }
                    await line.close()
                    return lost
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(lost.isEmpty, "sessions of sign-ins that were answered 200 are lost: \(lost); \(tally.summary)")
    }

    @Test(
        "A session of one instance works on another, and ends on all when a third ends it, behind nginx")
    func sharedSessions() async throws {
        try await InstancesHarness.with(database: try PostgresCluster.shared().makeSchema()) { harness in
            var instances = harness.addresses.map { AppConnection(to: $0) }
            let fields = try harness.authorizedResponse(of: 0)
            let token = try #require(try await instances[0].send("POST", "/auth/zenkey-signin", json: fields).token)
            #expect(try await instances[1].send("GET", "/users/me", token: token).status == 200)
            #expect(try await instances[2].send("DELETE", "/auth/token", token: token).status == 200)
            for number in instances.indices {
                try await until { try await instances[number].send("GET", "/users/me", token: token).status == 401 }
            }

            // An app that lost the response repeats the request.
            var proxy = AppConnection(to: harness.proxy.address)
            var signIns = 1
            for user in 0..<200 where !instances.indices.allSatisfy(harness.hasServed) {
                let fields = try harness.authorizedResponse(of: user)
                for _ in 0..<3 {
                    let again = try await proxy.send("POST", "/auth/zenkey-signin", json: fields)
                    try #require(again.status == 200, "\(again.error ?? "")")
                }
                signIns += 1
            }
            for number in instances.indices { try await harness.waitUntilItServes(number) }
            let again = try harness.authorizedResponse(of: 1)
            for number in instances.indices {
                #expect(try await instances[number].send("POST", "/auth/zenkey-signin", json: again).status == 200)
            }
            #expect(harness.tokenRequests == signIns + 1)
            for (path, status) in [("/auth/providers", "200"), ("/metrics", "404")] {
                let answer = try await Program.run(
                    "curl",
                    [
                        "-sS", "--insecure", "--http2", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", "-H",
                        "Host: login.example.com", "https://\(harness.proxy.secureAddress)\(path)",
                    ])
                #expect(answer.output == "2 \(status)", "\(path)")
            }
            await proxy.close()
            for instance in instances { await instance.close() }
        }
    }

    @Test("The shipped nginx file logs requests without codes and handles, also those that no instance answers")
    func accessLog() async throws {
        try await InstancesHarness.with(database: try PostgresCluster.shared().makeSchema()) { harness in
            let targets = [
                "/auth/zenkey/callback?code=SECRET-1&state=SECRET-2", "/auth/zenkey-async-signin/SECRET-3",
                "/auth/acme/backchannel/SECRET-4?x=SECRET-5", "/users/me", "/?a=SECRET-6",
                // Mistyped. Such a request is refused, and the handle stays valid.
                "/auth/zenkey-async-signin//SECRET-8", "/api//auth/ZenKey-Async-Signin/SECRET-9/",
                "/auth/zenkey%2Dasync-signin/SECRET-10", "/auth/acme/backchannel/notification/SECRET-11",
                "/auth/acme/backchannel/notification", "/auth/acme/backchannel-logout",
                "/auth/carriers/start/SECRET-12/confirmation", "/auth/acme/start?state=SECRET-13",
            ]
            var client = AppConnection(to: harness.proxy.address)
            for target in targets { _ = try await client.send("GET", target) }
            for number in harness.addresses.indices { _ = await harness.end(number, SIGKILL) }
            #expect(try await client.send("GET", "/auth/acme/callback?code=SECRET-7").status == 503)
            await client.close()
            let paths = [
                "/auth/zenkey/callback", "/auth/zenkey-async-signin/-", "/auth/acme/backchannel/-", "/users/me", "/",
                "/auth/acme/callback", "/api//auth/ZenKey-Async-Signin/-", "/auth/zenkey-",
                "/auth/acme/backchannel/notification", "/auth/acme/backchannel-logout", "/auth/carriers/start/-",
                "/auth/acme/start",
            ]
            try await until { harness.proxy.accessLog.split(separator: "\n").count > targets.count }
            let lines = harness.proxy.accessLog.split(separator: "\n")
            for path in paths { #expect(lines.contains { $0.contains("\"GET \(path) HTTP/1.1\"") }, "\(path)") }
            #expect(!(harness.proxy.accessLog + harness.proxy.log).contains("SECRET"))
        }
    }

    @Test("Without a running instance, nginx responds as Latchkey would, until one is back")
    func noInstance() async throws {
        try await InstancesHarness.with(database: try PostgresCluster.shared().makeSchema()) { harness in
            for number in 0..<3 { _ = await harness.end(number, SIGKILL) }
            var proxy = AppConnection(to: harness.proxy.address)
            let answer = try await proxy.send("POST", "/auth/zenkey-signin", json: ["code": "1"])
            #expect(answer.status == 503)
            #expect(answer.error == "temporarily_unavailable")
            #expect(answer.response["retry-after"] == "1")
            #expect(answer.response["cache-control"] == "no-store")
            #expect(answer.response["content-type"] == "application/json; charset=utf-8")
            try await harness.restart(1)
            let fields = try harness.authorizedResponse(of: 1)
            try await until { try await proxy.send("POST", "/auth/zenkey-signin", json: fields).status == 200 }
            await proxy.close()
        }
    }

    @Test("An instance killed under load loses no session, and is used again after its restart")
    func copyKilled() async throws {
        try await InstancesHarness.with(database: try PostgresCluster.shared().makeSchema()) { harness in
            let tally = try await InstancesLoad.run(harness) { load in
                try await load.more(24)
                _ = await harness.end(1, SIGKILL)
                try await load.more(24)
                try await harness.restart(1)
                try await harness.waitUntilItServes(1)
                try await load.more(12)
            }
            // Only requests that the killed instance was handling.
            #expect(tally.spent <= InstancesLoad.workers, "\(tally.summary)")
            try await hold(tally, on: harness)
        }
    }

    @Test("A rolling restart of all instances under load loses no accepted request")
    func rollingRestart() async throws {
        try await InstancesHarness.with(database: try PostgresCluster.shared().makeSchema()) { harness in
            let tally = try await InstancesLoad.run(harness) { load in
                for number in 0..<3 {
                    try await load.more(24)
                    let ending = await harness.end(number, SIGTERM)
                    #expect(ending.status == 0)
                    #expect(!ending.output.contains("closed connections"))
                    try await load.more(12)
                    try await harness.restart(number)
                    try await harness.waitUntilItServes(number)
                }
            }
            // Only accepted requests spend a code, and all of these have a response.
            #expect(tally.spent == 0, "\(tally.summary)")
            try await hold(tally, on: harness)
        }
    }

    @Test(
        "PostgreSQL restarted, crashed and killed under load: no acknowledged change is lost, and service resumes"
    )
    func databaseRestarted() async throws {
        let cluster = try PostgresCluster()
        try await InstancesHarness.with(database: try cluster.makeSchema()) { harness in
            let tally = try await InstancesLoad.run(harness) { load in
                for ending in PostgresCluster.Ending.allCases {
                    try await load.more(24)
                    try load.duringOutage {
                        try cluster.stop(ending)
                        try cluster.start()
                    }
                    try await load.more(24)
                }
            }
            #expect(tally.unavailable > 0, "it was not noticed at all")
            // The instance with the carrier's response completes the sign-in when it is repeated.
            #expect(tally.spent == 0, "\(tally.summary)")
            try await hold(tally, on: harness)
        }
    }

    @Test("PgBouncer killed under load, without another way to PostgreSQL: no acknowledged change is lost")
    func poolerKilled() async throws {
        let cluster = try PostgresCluster.shared()
        let pooler = try PgBouncer(before: cluster, schema: cluster.makeSchema(), connections: 3)
        defer { withExtendedLifetime(pooler) {} }
        try await InstancesHarness.with(database: pooler.url, pooler: pooler.url) { harness in
            let tally = try await InstancesLoad.run(harness) { load in
                for _ in 0..<3 {
                    try await load.more(24)
                    try load.duringOutage {
                        pooler.stop()
                        try pooler.start()
                    }
                }
                try await load.more(24)
            }
            #expect(tally.unavailable > 0, "it was not noticed at all")
            #expect(tally.spent == 0, "\(tally.summary)")
            try await hold(tally, on: harness)
        }
    }
}
