import HTTPTypes
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import Redirects

/// How redirect sign-ins under way share their number.
@Suite("Pending redirect sign-ins")
struct PendingStartTests {
    private let time = ManualUptime()

    private func pending(_ maximum: Int) -> OneTimeRecordQuota {
        OneTimeRecordQuota(maximum: maximum, lifetime: .seconds(600), uptime: time.uptime)
    }

    private func admit(
        _ name: String, of subnet: String?, bytes: Int = 1, in starts: OneTimeRecordQuota
    ) -> [TokenHash]? {
        starts.admit(TokenHash(sha256Of: name), of: subnet.flatMap { IPAddress($0)?.subnet }, bytes: bytes)?.evicted
    }

    private func displaced(_ names: String...) -> [TokenHash]? {
        names.map { TokenHash(sha256Of: $0) }
    }

    @Test("At the limit the subnet that has most loses its oldest one")
    func heaviest() {
        let starts = pending(4)
        #expect(admit("a1", of: "192.0.2.1", in: starts) == displaced())
        #expect(admit("a2", of: "192.0.2.2", in: starts) == displaced())
        #expect(admit("b1", of: "198.51.100.1", in: starts) == displaced())
        #expect(admit("a3", of: "192.0.2.255", in: starts) == displaced())
        #expect(admit("c1", of: "2001:db8::1", in: starts) == displaced("a1"))
        // Now a has two. Its next start displaces its own, because others have less.
        #expect(admit("a4", of: "192.0.2.1", in: starts) == displaced("a2"))
        // A subnet that would have as many displaces its own, too.
        #expect(admit("b2", of: "198.51.100.1", in: starts) == displaced("b1"))
        #expect(admit("d1", of: nil, in: starts) == displaced("a3"))
        #expect(admit("e1", of: "10.0.0.1", in: starts) == nil)
        #expect(starts.count == 4)
    }

    @Test("Subnets that have one each do not displace each other; those that came back or expired make room")
    func room() {
        let starts = pending(3)
        for number in 0..<3 { #expect(admit("\(number)", of: "10.0.\(number).1", in: starts) == displaced()) }
        #expect(admit("x", of: "10.0.9.1", in: starts) == nil)
        starts.end(TokenHash(sha256Of: "1"))
        starts.end(TokenHash(sha256Of: "1"))
        time.advance(by: .seconds(10))
        #expect(admit("y", of: "10.0.9.1", in: starts) == displaced())
        time.advance(by: .seconds(589))
        #expect(admit("z", of: "10.0.8.1", in: starts) == nil)
        time.advance(by: .seconds(1))
        #expect(admit("z", of: "10.0.8.1", in: starts) == displaced())
        #expect(starts.count == 2)
    }

    @Test("A long row counts as several")
    func weights() {
        let starts = pending(6)
        #expect(admit("a1", of: "10.0.0.1", bytes: 1_201, in: starts) == displaced())
        #expect(admit("a2", of: "10.0.0.1", bytes: 1_200, in: starts) == displaced())
        #expect(admit("b1", of: "10.0.1.1", bytes: 600, in: starts) == displaced())
        #expect(admit("c1", of: "10.0.2.1", bytes: 600, in: starts) == displaced("a1"))
        #expect(admit("c2", of: "10.0.2.1", bytes: 1_200, in: starts) == displaced())
    }

    @Test("However many come and go, a subnet's own ones are displaced in their order")
    func order() {
        let starts = pending(10)
        for number in 0..<1_000 {
            #expect(admit("\(number)", of: "10.0.0.1", in: starts) == displaced())
            starts.end(TokenHash(sha256Of: "\(number - (number % 2 == 0 ? 3 : 7))"))
        }
        #expect(starts.count <= 10)
        for number in 0..<20 { _ = admit("n\(number)", of: "10.0.0.1", in: starts) }
        #expect(admit("m", of: "10.0.0.1", in: starts) == displaced("n10"))
        #expect(starts.count == 10)
    }

    private func hash(_ name: String) -> TokenHash { TokenHash(sha256Of: name) }

    @Test("At the limit, the oldest ones are verified in their order, each once a minute, and none that is young")
    func unverified() {
        let starts = pending(120)
        for number in 0..<120 {
            if number == 110 { time.advance(by: .seconds(60)) }
            #expect(starts.unverified(beforeAdding: 1) == [])
            #expect(admit("\(number)", of: "10.0.\(number).1", in: starts) == displaced())
        }
        #expect(starts.unverified(beforeAdding: 1) == (0..<50).map { hash("\($0)") })
        for number in 0..<10 { starts.end(hash("\(number)")) }
        // There is room.
        #expect(starts.unverified(beforeAdding: 1) == [])
        #expect(starts.unverified(beforeAdding: 10 * 600 + 1) == (50..<100).map { hash("\($0)") })
        #expect(starts.unverified(beforeAdding: 10 * 600 + 1) == (100..<110).map { hash("\($0)") })
        #expect(starts.unverified(beforeAdding: 10 * 600 + 1) == [])
        time.advance(by: .seconds(59))
        #expect(starts.unverified(beforeAdding: 10 * 600 + 1) == [])
        time.advance(by: .seconds(1))
        #expect(starts.unverified(beforeAdding: 10 * 600 + 1) == (110..<120).map { hash("\($0)") })
        #expect(starts.unverified(beforeAdding: 10 * 600 + 1) == (10..<60).map { hash("\($0)") })
        #expect(starts.unverified(beforeAdding: 10 * 600 + 1) == (60..<110).map { hash("\($0)") })
        #expect(starts.unverified(beforeAdding: 10 * 600 + 1) == (110..<120).map { hash("\($0)") })
        #expect(starts.unverified(beforeAdding: 10 * 600 + 1) == [])
    }

    @Test("One that is counted already counts once, and its subnet stays")
    func twice() {
        let starts = pending(2)
        for _ in 0..<3 { #expect(admit("a", of: "10.0.0.1", in: starts) == displaced()) }
        #expect(admit("a", of: "10.0.9.1", in: starts) == displaced())
        #expect(admit("b", of: "10.0.0.1", in: starts) == displaced())
        #expect(starts.count == 2)
        #expect(admit("c", of: "10.0.8.1", in: starts) == displaced("a"))
        #expect(starts.statistics.displaced == 1)
        #expect(admit("d", of: "10.0.7.1", in: starts) == nil)
        #expect(starts.statistics.refused == 1)
    }

    private func start(_ app: TestApp, from address: String) async throws -> Answer {
        try await app.send(
            .get, "/auth/zenkey/start?client_type=ios&redirect_uri=com.example.app%3A%2F%2Fcb&mccmnc=310410",
            apiKey: nil, from: address)
    }

    private func finish(_ app: TestApp, _ started: Answer, from address: String) async throws -> Answer {
        let location = try #require(started.headers[.location])
        let items = try #require(location.split(separator: "?").last).split(separator: "&")
        func value(_ name: String) -> String {
            items.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) } ?? ""
        }
        app.carrier.script { $0.nonce = value("nonce") }
        let code = RandomSource.system.token()
        return try await app.send(
            .get, "/auth/zenkey/callback?code=\(code)&state=" + value("state"), apiKey: nil, from: address)
    }

    @Test("A subnet that floods the server stops no other one, and loses its own starts from the database")
    func flood() async throws {
        let app = try TestApp(redirects: { $0.maximumPending = 20 })
        let early = try await start(app, from: "198.51.100.1")
        var floods: [Answer] = []
        for number in 0..<700 {
            let answer = try await start(app, from: "203.0.113.\(number % 250 + 1)")
            #expect(answer.status == 303)
            floods.append(answer)
        }
        let late = try await start(app, from: "192.0.2.1")
        #expect(late.status == 303)
        for started in [early, late] {
            let done = try await finish(app, started, from: "192.0.2.200")
            #expect(done.headers[.location]?.contains("status=success") == true)
        }
        #expect(try await finish(app, floods[0], from: "203.0.113.1").status == 400)
        let last = try await finish(app, floods[699], from: "203.0.113.1")
        #expect(last.headers[.location]?.contains("status=success") == true)
    }

    @Test("One that came back makes room")
    func finished() async throws {
        let app = try TestApp(redirects: { $0.maximumPending = 1 })
        for number in 0..<3 {
            let address = "198.51.\(number).1"
            let started = try await start(app, from: address)
            #expect(started.status == 303)
            #expect(try await start(app, from: "192.0.2.1").status == 503)
            #expect(try await finish(app, started, from: address).status == 303)
        }
    }

    @Test("One that came back to another instance makes room, too")
    func finishedElsewhere() async throws {
        let here = try TestApp(redirects: { $0.maximumPending = 3 })
        let there = try TestApp(beside: here)
        var started: [Answer] = []
        for number in 0..<3 { started.append(try await start(here, from: "198.51.\(number).1")) }
        #expect(try await start(here, from: "192.0.2.1").status == 503)
        for answer in started.dropFirst() {
            let done = try await finish(there, answer, from: "192.0.2.1")
            #expect(done.headers[.location]?.contains("status=success") == true)
        }
        here.uptime.advance(by: .seconds(60))
        for number in 1...2 { #expect(try await start(here, from: "192.0.\(number).1").status == 303) }
        #expect(try await start(here, from: "192.0.3.1").status == 503)
        // The one that did not come back is still there.
        let done = try await finish(here, started[0], from: "198.51.0.1")
        #expect(done.headers[.location]?.contains("status=success") == true)
    }

    @Test("At the limit the store is asked, and while it cannot tell, those that came back elsewhere count")
    func storeDown() async throws {
        let app = try TestApp(redirects: { $0.maximumPending = 1 })
        _ = try await start(app, from: "198.51.1.1")
        app.uptime.advance(by: .seconds(60))
        app.storeScript.fail(with: StorageError(.unavailable, reason: "x"))
        #expect(try await start(app, from: "192.0.2.1").status == 503)
        app.storeScript.fail(with: nil)
        #expect(try await start(app, from: "192.0.2.1").status == 503)
    }

    @Test("The records of codes that browsers brought are limited in the same way, however the sign-ins end")
    func answeredCodes() async throws {
        let app = try TestApp(redirects: { $0.maximumPending = 5 })
        func hash(_ code: String) -> TokenHash { TokenHash(sha256Of: "code of zenkey\n\(code)") }
        func answer(_ code: String, from address: String) async throws {
            let started = try await start(app, from: address)
            let location = try #require(started.headers[.location])
            let state = try #require(location.split(separator: "state=").last?.split(separator: "&").first)
            _ = try await app.send(
                .get, "/auth/zenkey/callback?code=\(code)&state=\(state)", apiKey: nil, from: address)
        }
        try await answer("other", from: "198.51.100.1")
        for number in 0..<30 { try await answer("flood-\(number)", from: "203.0.113.\(number + 1)") }
        let kept = try await app.store.oneTimeRecords(
            among: [hash("other")] + (0..<30).map { hash("flood-\($0)") }, at: app.clock.now)
        #expect(kept == Set([hash("other")] + (26..<30).map { hash("flood-\($0)") }))
    }
}
