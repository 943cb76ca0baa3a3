import HTTPServer
import HTTPTypes
import LatchkeyAPI
import Primitives
import Synchronization
import TestSupport
import Testing
import Zephr

@Suite("During an overload")
struct OverloadTests {
    /// A request, and after how many milliseconds of delay it is refused; nil for never.
    private static let rows: [(HTTPRequest.Method, String, Int?)] = [
        (.post, "/auth/zenkey-signin", 20), (.post, "/auth/zenkey/sign-in", 20), (.post, "/auth/other/sign-in", 20),
        (.post, "/auth/zenkey/attempts", 20), (.get, "/auth/zenkey/start?client_id=x", 20),
        (.head, "/auth/zenkey/start", 20), (.post, "/auth/zenkey-async-signin", 20),
        (.get, "/zephr/oauth/zenkey", 20), (.get, "/blaize/oauth/zenkey", 20),
        (.get, "/auth/zenkey-async-signin/x", 201), (.post, "/auth/zenkey-async-signin/x", 201),
        (.get, "/auth/zenkey/callback?code=x&state=y", 201), (.post, "/auth/zenkey/callback", 201),
        (.post, "/users", 201), (.post, "/auth/register", 201), (.post, "/auth/session", 201),
        (.post, "/auth/token", 201), (.delete, "/auth/token", 201), (.patch, "/users/me", 201),
        (.get, "/", 201), (.get, "/nothing", 201), (.post, "/healthz", 201), (.options, "/auth/zenkey-signin", 201),
        (.get, "/users/me", nil), (.head, "/users/me", nil), (.post, "/auth/introspect", nil),
        (.get, "/auth/verify", nil), (.head, "/auth/verify", nil), (.post, "/auth/verify", 201),
        (.get, "/healthz", nil), (.head, "/readyz", nil), (.get, "/metrics", nil),
    ]

    @Test("what begins a sign-in is refused first, session checks and probes never", arguments: rows)
    func priorities(_ method: HTTPRequest.Method, _ path: String, _ limit: Int?) throws {
        let app = try TestApp(features: [ZephrFeature()])
        let shed = app.api.loadShedder()
        for delay in [20, 21, 200, 201, 60_000] {
            let response = shed(try Request(method, path), .milliseconds(delay))
            #expect((response != nil) == limit.map { delay >= $0 } ?? false, "\(delay) ms")
        }
    }

    @Test("a refusal is an error like all others, for pages of other origins too, and is counted")
    func refusal() async throws {
        let app = try TestApp(allowedOrigins: ["https://shop.example"])
        let seen = Mutex([Int]())
        let shed = app.api.loadShedder { completed in seen.withLock { $0.append(completed.status) } }
        let request = try Request(
            .post, "/auth/zenkey-signin",
            headers: [.origin: "https://shop.example", .accept: "application/problem+json"])
        let answer = Answer(try #require(shed(request, .milliseconds(30))))
        #expect(answer.status == 503)
        #expect(answer.error == "temporarily_unavailable")
        #expect(answer.headers[.retryAfter] == "1")
        #expect(answer.headers[.accessControlAllowOrigin] == "https://shop.example")
        #expect(answer.headers[.contentType] == "application/problem+json")
        #expect(answer.requestID != nil)
        #expect(shed(try Request(.get, "/healthz"), .seconds(60)) == nil)
        #expect(seen.withLock { $0 } == [503])
        #expect(app.api.load.shed.map { [$0.reason.rawValue: $0.count] } == [["concurrent": 0], ["late": 1]])
        #expect(app.api.load.shedCount == 1)
    }

    @Test("the log says so once in ten seconds")
    func log() throws {
        let app = try TestApp()
        let shed = app.api.loadShedder()
        func refuse() throws { for _ in 0..<3 { _ = shed(try Request(.post, "/auth/zenkey-signin"), .seconds(1)) } }
        func counts() -> [String?] {
            app.log.lines.filter { $0.message == "overloaded: requests are answered 503" }
                .map { $0.metadata["refused_since_start"].map { "\($0)" } }
        }
        try refuse()
        #expect(counts() == ["1"])
        app.uptime.advance(by: .milliseconds(9999))
        try refuse()
        #expect(counts() == ["1"])
        app.uptime.advance(by: .milliseconds(1))
        try refuse()
        #expect(counts() == ["1", "7"])
    }
}
