import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

@testable import LatchkeyAPI

/// Rate limits.
@Suite("Too many requests")
struct RateLimitTests {
    private static let some = "192.0.2.7"

    private func app(_ change: (inout RequestLimits) -> Void) throws -> TestApp {
        var limits = RequestLimits()
        change(&limits)
        return try TestApp(limits: limits)
    }

    private func field(_ answer: Answer, _ name: String) -> String? {
        HTTPField.Name(name).flatMap { answer.headers[$0] }
    }

    private func statuses(
        _ app: TestApp, _ count: Int, from peer: String, _ headers: HTTPFields = [:], path: String = "/"
    ) async throws -> [Int] {
        var statuses: [Int] = []
        for _ in 0..<count {
            statuses.append(try await app.send(.get, path, headers, apiKey: nil, from: peer).status)
        }
        return statuses
    }

    @Test("of one address get 429 with the limit and the wait; other addresses are unaffected")
    func perAddress() async throws {
        let app = try app { $0.quotas[.perAddress] = .init(count: 4, seconds: 8) }
        #expect(try await statuses(app, 5, from: Self.some) == [200, 200, 200, 200, 429])
        let refused = try await app.send(.get, "/users/me", from: Self.some)
        #expect(refused.status == 429)
        #expect(refused.error == "rate_limited")
        #expect(refused.headers[.retryAfter] == "2")
        #expect(field(refused, "RateLimit-Policy") == #""address";q=4;w=8"#)
        #expect(field(refused, "RateLimit") == #""address";r=0;t=2"#)
        #expect(refused.requestID != nil)
        #expect(try await statuses(app, 1, from: "192.0.2.8") == [200])
        #expect(try await statuses(app, 2, from: Self.some, path: "/healthz") == [200, 200])
        app.uptime.advance(by: .milliseconds(1999))
        #expect(try await statuses(app, 1, from: Self.some) == [429])
        app.uptime.advance(by: .milliseconds(1))
        #expect(try await statuses(app, 2, from: Self.some) == [200, 429])
        app.uptime.advance(by: .seconds(1000))
        #expect(try await statuses(app, 5, from: Self.some) == [200, 200, 200, 200, 429])
    }

    @Test("are announced once less than half of the bucket is left")
    func notice() async throws {
        let app = try app { $0.quotas[.perAddress] = .init(count: 10, seconds: 10) }
        var notices: [String?] = []
        for _ in 0..<10 {
            notices.append(field(try await app.send(.get, "/nothing", apiKey: nil, from: Self.some), "RateLimit"))
        }
        #expect(notices == Array(repeating: nil, count: 5) + (0..<5).map { #""address";r=\#(4 - $0)"# })
    }

    @Test("keep their counts if a reload keeps the limit")
    func replaced() async throws {
        let app = try app { $0.quotas[.perAddress] = .init(count: 2, seconds: 60) }
        #expect(try await statuses(app, 3, from: Self.some) == [200, 200, 429])
        var limits = RequestLimits()
        limits.quotas[.perAddress] = .init(count: 2, seconds: 60)
        limits.proxies = TrustedProxies(ranges: [try #require(IPAddressRange("192.0.2.99"))])
        app.api.replaceLimits(limits)
        #expect(try await statuses(app, 1, from: Self.some) == [429])
        let forwarded: HTTPFields = [try #require(HTTPField.Name("X-Forwarded-For")): Self.some]
        #expect(try await statuses(app, 1, from: "192.0.2.99", forwarded) == [429])
        limits.quotas[.perAddress] = .init(count: 1, seconds: 60)
        app.api.replaceLimits(limits)
        #expect(try await statuses(app, 2, from: Self.some) == [200, 429])
        limits.requestsInProgress = 0
        app.api.replaceLimits(limits)
        #expect(try await statuses(app, 1, from: "192.0.2.1") == [503])
        app.api.replaceLimits(RequestLimits())
        #expect(try await statuses(app, 3, from: Self.some) == [200, 200, 200])
    }

    @Test("from loopback addresses are not limited by address", arguments: ["127.0.0.1", "127.9.9.9", "::1"])
    func loopback(_ peer: String) async throws {
        let app = try app { $0.quotas[.perAddress] = .init(count: 1, seconds: 60) }
        #expect(try await statuses(app, 3, from: peer) == [200, 200, 200])
    }

    @Test("of one IPv6 /64 count as one address")
    func subscriber() async throws {
        let app = try app { $0.quotas[.perAddress] = .init(count: 2, seconds: 60) }
        #expect(try await statuses(app, 1, from: "2001:db8:0:1::1") == [200])
        #expect(try await statuses(app, 1, from: "2001:db8:0:1:ffff:ffff:ffff:ffff") == [200])
        #expect(try await statuses(app, 1, from: "2001:db8:0:1::3") == [429])
        #expect(try await statuses(app, 1, from: "2001:db8:0:2::1") == [200])
        #expect(try await statuses(app, 2, from: "192.0.2.1") == [200, 200])
        #expect(try await statuses(app, 1, from: "::ffff:192.0.2.1") == [429])
    }

    @Test("keep their counts however many other addresses come between")
    func memory() async throws {
        let app = try app { $0.quotas[.perAddress] = .init(count: 3, seconds: 3600) }
        _ = try await statuses(app, 3, from: Self.some)
        // RateBucketTests fills a table of the usual size.
        for number in 0..<AllRows.count(40_000, short: 1_000) {
            _ = try await app.send(
                .get, "/nothing", apiKey: nil, from: "10.\(number >> 16).\(number >> 8 & 255).\(number & 255)")
        }
        #expect(try await statuses(app, 1, from: Self.some) == [429])
    }

    @Test("to sign in have their own limit, and the code is not posted")
    func signIns() async throws {
        let app = try app { $0.quotas[.signInsPerAddress] = .init(count: 2, seconds: 60) }
        let type: HTTPFields = [.contentType: "application/json"]
        let paths = [
            "/auth/zenkey-signin", "/auth/zenkey/sign-in", "/auth/zenkey/attempts", "/users", "/auth/register",
            "/auth/session", "/auth/token", "/auth/zenkey-async-signin", "/auth/zenkey-async-signin/x",
        ]
        for (number, path) in paths.enumerated() {
            let peer = "192.0.2.\(number)"
            for _ in 0..<2 {
                #expect(try await app.send(.post, path, type, body: "{}", from: peer).status != 429, "\(path)")
            }
            let answer = try await app.send(.post, path, type, body: SignInBody().json, from: peer)
            #expect(answer.status == 429, "\(path)")
            #expect(field(answer, "RateLimit-Policy") == #""sign-ins";q=2;w=60"#)
            #expect(try await app.send(.get, "/users/me", from: peer).status == 401)
        }
        #expect(app.carrier.tokenPosts == 0)
    }

    @Test(
        "to start a redirect sign-in have their own limit",
        arguments: [
            "/auth/zenkey/start?client_type=web&mccmnc=310010&redirect_uri=https%3A%2F%2Fweb.example%2Fdone",
            "/auth/zenkey/initiate-login?iss=https%3A%2F%2Fop.example",
        ])
    func starts(_ path: String) async throws {
        let app = try app { $0.quotas[.startsPerAddress] = .init(count: 2, seconds: 60) }
        for _ in 0..<2 { #expect(try await app.send(.get, path, apiKey: nil, from: Self.some).status != 429) }
        let refused = try await app.send(.get, path, apiKey: nil, from: Self.some)
        #expect(refused.status == 429)
        #expect(field(refused, "RateLimit-Policy") == #""starts";q=2;w=60"#)
        #expect(try await app.send(.get, path, apiKey: nil, from: "198.51.100.7").status != 429)
        #expect(try await app.send(.get, "/users/me", from: Self.some).status == 401)
    }

    @Test("for nonces count as starts where a page asks without an API key, because each is stored")
    func noncesOfPages() async throws {
        let app = try app { $0.quotas[.startsPerAddress] = .init(count: 2, seconds: 60) }
        func issue(_ apiKey: String?) async throws -> Answer {
            try await app.send(
                .post, "/auth/zenkey/attempts", [.origin: "https://login.example", .contentType: "application/json"],
                body: #"{"client_type":"web"}"#, apiKey: apiKey, from: Self.some)
        }
        for _ in 0..<2 { #expect(try await issue(nil).status == 200) }
        #expect(try await issue(nil).status == 429)
        #expect(try await issue(TestApp.apiKey).status == 200)
    }

    @Test("to start a redirect sign-in are limited for a subnet as a whole, too")
    func siteStarts() async throws {
        let app = try app { $0.quotas[.startsPerSubnet] = .init(count: 2, seconds: 60) }
        let path = "/auth/zenkey/start?client_type=web&mccmnc=310010&redirect_uri=https%3A%2F%2Fweb.example%2Fdone"
        for (addresses, other) in [
            (["198.51.100.7", "198.51.100.8", "198.51.100.9"], "198.51.101.9"),
            (["2001:db8:1:1::1", "2001:db8:1:2::1", "2001:db8:1:ffff::1"], "2001:db8:2::1"),
        ] {
            for address in addresses.prefix(2) {
                #expect(try await app.send(.get, path, apiKey: nil, from: address).status != 429)
            }
            let refused = try await app.send(.get, path, apiKey: nil, from: addresses[2])
            #expect(refused.status == 429)
            #expect(field(refused, "RateLimit-Policy") == #""subnet-starts";q=2;w=60"#)
            #expect(try await app.send(.get, path, apiKey: nil, from: other).status != 429)
        }
    }

    @Test("are counted by API key, and not for unknown keys")
    func perKey() async throws {
        let app = try app { $0.quotas[.perAPIKey] = .init(count: 2, seconds: 60) }
        for _ in 0..<5 { #expect(try await app.send(.get, "/users/me", apiKey: "wrong").status == 401) }
        for _ in 0..<2 { #expect(try await app.send(.get, "/users/me").error == "invalid_token") }
        let refused = try await app.send(.get, "/users/me")
        #expect(refused.status == 429)
        #expect(field(refused, "RateLimit-Policy") == #""api-key";q=2;w=60"#)
        #expect(try await app.send(.get, "/users/me", apiKey: TestApp.otherAPIKey).error == "invalid_token")
    }

    @Test("to change an account are counted by user, across sessions, and change nothing")
    func changes() async throws {
        let app = try app { $0.quotas[.changesPerUser] = .init(count: 2, seconds: 60) }
        let (token, same) = (try await app.token(), try await app.token(SignInBody().code("CODE-2")))
        app.carrier.script { $0.subject = "SUBJECT-of-somebody-else" }
        let other = try await app.token(SignInBody().code("CODE-3"))
        #expect(try await app.patch(token, #"{"name":"A"}"#).status == 200)
        #expect(try await app.patch(same, #"{"name":"B"}"#).status == 200)
        #expect(try await app.patch(token, #"{"name":"C"}"#).status == 429)
        let paths = ["/users/me", "/users/me/identities/x"]
        for path in paths { #expect(try await app.asUser(.delete, path, same).status == 429, "\(path)") }
        #expect(try await app.asUser(.post, "/auth/zenkey/authorize", same).status == 429)
        #expect(try await app.me(token).text("name") == "B")
        #expect(try await app.patch(other, #"{"name":"D"}"#).status == 200)
        // The user can still end sessions and sign out, because a thief may have used up the changes.
        #expect(try await app.asUser(.delete, "/users/me/sessions/x", same).status == 404)
        #expect(try await app.asUser(.delete, "/users/me/sessions", token).status == 200)
        #expect(try await app.me(same).status == 401)
        #expect(try await app.asUser(.delete, "/auth/token", token).status == 200)
    }

    @Test("at the same time get 503, except health checks and session checks")
    func overload() async throws {
        let app = try app { $0.requestsInProgress = 2 }
        let token = try await app.token(SignInBody().code("CODE-0"))
        let gate = Gate()
        app.carrier.script { script in
            script.token = { _ throws(OutboundError) in
                await gate.pass()
                return .json("{}", status: 500)
            }
        }
        let waiting = (1...2).map { number in
            Task { try await app.signIn(SignInBody().code("CODE-\(number)")).status }
        }
        // Both requests are in flight, and no third request occupies a place.
        try await until { app.api.load.inProgress == 2 }
        await gate.untilWaiting(2)
        let shed = try await app.send(.get, "/", apiKey: nil)
        #expect(shed.status == 503)
        #expect(shed.error == "temporarily_unavailable")
        #expect(shed.headers[.retryAfter] == "1")
        #expect(try await app.send(.get, "/healthz", apiKey: nil).status == 200)
        #expect(try await app.send(.get, "/readyz", apiKey: nil).status == 200)
        #expect(try await app.me(token).status == 200)
        gate.open()
        for task in waiting { #expect(try await task.value == 502) }
        #expect(try await app.send(.get, "/", apiKey: nil).status == 200)
    }

    struct Way: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var field = TrustedProxies.Field.xForwardedFor
        var peer = "10.0.0.1"
        var headers: [(String, String)]
        /// The client's address.
        let client: String
    }

    private static let xff = "X-Forwarded-For"
    static let ways: [Way] = [
        Way(testDescription: "one proxy", headers: [(xff, "192.0.2.1")], client: "192.0.2.1"),
        Way(
            testDescription: "what the client wrote before counts for nothing",
            headers: [(xff, "203.0.113.9, 192.0.2.1")], client: "192.0.2.1"),
        Way(
            testDescription: "also on a line of its own", headers: [(xff, "203.0.113.9"), (xff, "192.0.2.1")],
            client: "192.0.2.1"),
        Way(
            testDescription: "two proxies", headers: [(xff, "203.0.113.9, 192.0.2.1 , 10.1.2.3")],
            client: "192.0.2.1"),
        Way(
            testDescription: "a peer that is no proxy of ours", peer: "192.0.2.200",
            headers: [(xff, "203.0.113.9")], client: "192.0.2.200"),
        Way(
            testDescription: "what cannot be read is the proxy's", headers: [(xff, "192.0.2.1, unknown")],
            client: "10.0.0.1"),
        Way(
            testDescription: "a comma after a mark that joins with it", headers: [(xff, "\u{602}, 192.0.2.1")],
            client: "192.0.2.1"),
        Way(testDescription: "an empty word is the proxy's", headers: [(xff, "192.0.2.1,")], client: "10.0.0.1"),
        Way(testDescription: "no field at all", headers: [], client: "10.0.0.1"),
        Way(testDescription: "the other field", headers: [("Forwarded", "for=203.0.113.9")], client: "10.0.0.1"),
        Way(testDescription: "with a port", headers: [(xff, "192.0.2.1:5000")], client: "192.0.2.1"),
        Way(testDescription: "IPv6 with a port", headers: [(xff, "[2001:db8::7]:5000")], client: "2001:db8::7"),
        Way(testDescription: "an IPv6 proxy", peer: "fd00::5", headers: [(xff, "2001:db8::7")], client: "2001:db8::7"),
        Way(
            testDescription: "Forwarded", field: .forwarded,
            headers: [("Forwarded", #"for=203.0.113.9, for=192.0.2.1;proto=https;by=10.0.0.1"#)], client: "192.0.2.1"),
        Way(
            testDescription: "Forwarded with IPv6", field: .forwarded,
            headers: [("Forwarded", #"proto=https; For="[2001:db8::7]:4711""#)], client: "2001:db8::7"),
        Way(
            testDescription: "Forwarded with a comma in quotes", field: .forwarded,
            headers: [("Forwarded", #"for=192.0.2.1;host="a,for=203.0.113.9""#)], client: "192.0.2.1"),
        Way(
            testDescription: "Forwarded by one who hides it", field: .forwarded,
            headers: [("Forwarded", "for=203.0.113.9, for=_hidden")], client: "10.0.0.1"),
        Way(
            testDescription: "Forwarded without for", field: .forwarded,
            headers: [("Forwarded", "for=203.0.113.9, proto=http")], client: "10.0.0.1"),
        Way(
            testDescription: "Forwarded with a quote that has no end", field: .forwarded,
            headers: [("Forwarded", #"for=203.0.113.9;x=", for=192.0.2.1"#)], client: "10.0.0.1"),
        Way(
            testDescription: "Forwarded with a quote within a token", field: .forwarded,
            headers: [("Forwarded", #"for=203.0.113.9;x=a", for=192.0.2.1;host="b""#)], client: "10.0.0.1"),
        Way(
            testDescription: "Forwarded with text after a quoted string", field: .forwarded,
            headers: [("Forwarded", #"for=203.0.113.9;x="a\", for=192.0.2.1;host="b""#)], client: "10.0.0.1"),
        Way(
            testDescription: "Forwarded with an escaped quote", field: .forwarded,
            headers: [("Forwarded", #"for=203.0.113.9;x="a\"", for=192.0.2.1"#)], client: "192.0.2.1"),
        Way(
            testDescription: "Forwarded with two addresses in one element", field: .forwarded,
            headers: [("Forwarded", "for=203.0.113.9;for=192.0.2.1")], client: "10.0.0.1"),
        Way(
            testDescription: "a readable line of Forwarded after one that is not", field: .forwarded,
            headers: [("Forwarded", #"for=203.0.113.9;x=""#), ("Forwarded", "for=192.0.2.1")], client: "192.0.2.1"),
        Way(
            testDescription: "a readable line of Forwarded by a proxy before one that is not", field: .forwarded,
            headers: [("Forwarded", "for=203.0.113.9"), ("Forwarded", #"for=192.0.2.1;x=""#)], client: "10.0.0.1"),
        Way(
            testDescription: "the other field beside Forwarded", field: .forwarded,
            headers: [(xff, "203.0.113.9"), ("Forwarded", "for=192.0.2.1")], client: "192.0.2.1"),
    ]

    @Test("are attributed to the client that trusted proxies name", arguments: ways)
    func proxies(_ way: Way) async throws {
        let ranges = ["10.0.0.0/8", "fd00::/8"].compactMap(IPAddressRange.init)
        let app = try app {
            $0.quotas[.perAddress] = .init(count: 1, seconds: 60)
            $0.proxies = TrustedProxies(ranges: ranges, field: way.field)
        }
        var headers: HTTPFields = [:]
        for (name, value) in way.headers {
            headers.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        #expect(try await statuses(app, 2, from: way.peer, headers) == [200, 429])
        // The bucket belongs to the client; other addresses in the field have their own.
        let same = try #require(HTTPField.Name(Self.xff))
        if way.field == .xForwardedFor, way.client != way.peer {
            #expect(try await statuses(app, 1, from: "10.9.9.9", [same: way.client]) == [429])
            #expect(try await statuses(app, 1, from: "10.9.9.9", [same: "203.0.113.9"]) == [200])
        } else if way.field == .xForwardedFor {
            #expect(try await statuses(app, 1, from: way.client) == [429])
            #expect(try await statuses(app, 1, from: "10.9.9.9", [same: "203.0.113.9"]) == [200])
        } else {
            let forwarded = try #require(HTTPField.Name("Forwarded"))
            let name = way.client.contains(":") ? "\"[\(way.client)]\"" : way.client
            if way.client == way.peer {
                #expect(try await statuses(app, 1, from: way.client) == [429])
            } else {
                #expect(try await statuses(app, 1, from: "10.9.9.9", [forwarded: "for=\(name)"]) == [429])
            }
            #expect(try await statuses(app, 1, from: "10.9.9.9", [forwarded: "for=203.0.113.9"]) == [200])
        }
    }

    static let loopbackClaims: [(TrustedProxies.Field, String, peer: String)] = [
        (.forwarded, "for=127.0.0.1", "127.0.0.1"), (.forwarded, "for=127.0.0.1", "10.0.0.1"),
        (.forwarded, "for=\"[::1]\"", "10.0.0.1"), (.forwarded, #"for=127.0.0.1;x=", for=192.0.2.1"#, "127.0.0.1"),
        (.forwarded, "for=unknown", "127.0.0.1"), (.xForwardedFor, "127.0.0.1", "127.0.0.1"),
        (.xForwardedFor, "127.0.0.1", "10.0.0.1"), (.xForwardedFor, "::ffff:127.0.0.1", "10.0.0.1"),
        (.xForwardedFor, "unknown", "127.0.0.1"),
    ]

    @Test("are limited if a trusted proxy forwards them for an address of this machine", arguments: loopbackClaims)
    func claimedLoopback(_ field: TrustedProxies.Field, _ value: String, peer: String) async throws {
        let app = try app {
            $0.quotas[.perAddress] = .init(count: 1, seconds: 60)
            $0.proxies = TrustedProxies(
                ranges: ["10.0.0.0/8", "127.0.0.0/8"].compactMap(IPAddressRange.init), field: field)
        }
        let name = try #require(HTTPField.Name(field.rawValue))
        #expect(try await statuses(app, 2, from: peer, [name: value]) == [200, 429])
        // A program on this machine that forwards for nobody has no limit.
        #expect(try await statuses(app, 2, from: "127.0.0.1") == [200, 200])
    }
}
