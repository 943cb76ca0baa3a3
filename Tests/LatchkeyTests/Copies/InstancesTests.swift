import Foundation
import TestSupport
import Testing

/// Three copies over one PostgreSQL behind nginx, as Config/nginx has it.
@Suite(.serialized) struct InstancesTests {
    /// Sees that every sign-in that was answered holds on every copy, and that nothing that was ended does.
    private func hold(_ tally: InstancesLoad.Tally, on stage: InstancesHarness) async throws {
        #expect(tally.problems.isEmpty, "\(tally.summary)\n\(stage.proxy.log)")
        #expect(!tally.live.isEmpty && !tally.over.isEmpty)
        let lost = try await withThrowingTaskGroup(of: [String].self) { group in
            for (number, address) in stage.addresses.enumerated() {
                group.addTask {
                    var (line, lost): (Line, [String]) = (Line(to: address), [])
                    for token in tally.live {
                        let status = try await line.send("GET", "/users/me", token: token).status
                        if status != 200 { lost.append("copy \(number): \(status)") }
                    }
                    for token in tally.over {
                        // A copy that did not hear of the end has the session at hand for five seconds more.
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
        "A session made on one copy is used on another, and over on all when it is ended on a third; nginx finds them")
    func sharedSessions() async throws {
        try await InstancesHarness.with(database: try PostgresCluster.shared().makeSchema()) { stage in
            var copies = stage.addresses.map { Line(to: $0) }
            let fields = try stage.authorizedResponse(of: 0)
            let token = try #require(try await copies[0].send("POST", "/auth/zenkey-signin", json: fields).token)
            #expect(try await copies[1].send("GET", "/users/me", token: token).status == 200)
            #expect(try await copies[2].send("DELETE", "/auth/token", token: token).status == 200)
            for number in copies.indices {
                try await until { try await copies[number].send("GET", "/users/me", token: token).status == 401 }
            }

            // An app that lost the answer sends the same again.
            var proxy = Line(to: stage.proxy.address)
            var signIns = 1
            for user in 0..<200 where !copies.indices.allSatisfy(stage.hasServed) {
                let fields = try stage.authorizedResponse(of: user)
                for _ in 0..<3 {
                    let again = try await proxy.send("POST", "/auth/zenkey-signin", json: fields)
                    try #require(again.status == 200, "\(again.error ?? "")")
                }
                signIns += 1
            }
            for number in copies.indices { try await stage.waitUntilItServes(number) }
            let again = try stage.authorizedResponse(of: 1)
            for number in copies.indices {
                #expect(try await copies[number].send("POST", "/auth/zenkey-signin", json: again).status == 200)
            }
            #expect(stage.tokenRequests == signIns + 1)
            for (path, status) in [("/auth/providers", "200"), ("/metrics", "404")] {
                let answer = try await Program.run(
                    "curl",
                    [
                        "-sS", "--insecure", "--http2", "-o", "/dev/null", "-w", "%{http_version} %{http_code}", "-H",
                        "Host: login.example.com", "https://\(stage.proxy.secureAddress)\(path)",
                    ])
                #expect(answer.output == "2 \(status)", "\(path)")
            }
            await proxy.close()
            for copy in copies { await copy.close() }
        }
    }

    @Test("Where no copy answers, nginx says so as Latchkey would; and that is over when one does")
    func nobody() async throws {
        try await InstancesHarness.with(database: try PostgresCluster.shared().makeSchema()) { stage in
            for number in 0..<3 { _ = await stage.end(number, SIGKILL) }
            var proxy = Line(to: stage.proxy.address)
            let answer = try await proxy.send("POST", "/auth/zenkey-signin", json: ["code": "1"])
            #expect(answer.status == 503)
            #expect(answer.error == "temporarily_unavailable")
            #expect(answer.response["retry-after"] == "1")
            #expect(answer.response["cache-control"] == "no-store")
            #expect(answer.response["content-type"] == "application/json; charset=utf-8")
            try await stage.restart(1)
            let fields = try stage.authorizedResponse(of: 1)
            try await until { try await proxy.send("POST", "/auth/zenkey-signin", json: fields).status == 200 }
            await proxy.close()
        }
    }

    @Test("A copy that is killed under load takes no session with it, and is used again when it is back")
    func copyKilled() async throws {
        try await InstancesHarness.with(database: try PostgresCluster.shared().makeSchema()) { stage in
            let tally = try await InstancesLoad.run(stage) { load in
                try await load.more(24)
                _ = await stage.end(1, SIGKILL)
                try await load.more(24)
                try await stage.restart(1)
                try await stage.waitUntilItServes(1)
                try await load.more(12)
            }
            // Of those alone that were under way in the one that was killed.
            #expect(tally.spent <= InstancesLoad.workers, "\(tally.summary)")
            try await hold(tally, on: stage)
        }
    }

    @Test("Copies restarted one after the other under load: no request that was accepted is lost")
    func rollingRestart() async throws {
        try await InstancesHarness.with(database: try PostgresCluster.shared().makeSchema()) { stage in
            let tally = try await InstancesLoad.run(stage) { load in
                for number in 0..<3 {
                    try await load.more(24)
                    let ending = await stage.end(number, SIGTERM)
                    #expect(ending.status == 0)
                    #expect(!ending.output.contains("closed connections"))
                    try await load.more(12)
                    try await stage.restart(number)
                    try await stage.waitUntilItServes(number)
                }
            }
            // A code is spent by a request that was accepted: all of these were answered.
            #expect(tally.spent == 0, "\(tally.summary)")
            try await hold(tally, on: stage)
        }
    }

    @Test(
        "PostgreSQL restarted, crashed and killed under load: nothing that was answered is lost, and all goes on by itself"
    )
    func databaseRestarted() async throws {
        let cluster = try PostgresCluster()
        try await InstancesHarness.with(database: try cluster.makeSchema()) { stage in
            let tally = try await InstancesLoad.run(stage) { load in
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
            // The copy that had the carrier's word finishes the sign-in when it is sent again.
            #expect(tally.spent == 0, "\(tally.summary)")
            try await hold(tally, on: stage)
        }
    }
}
