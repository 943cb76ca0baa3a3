import HTTPTypes
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// `GET /users/me/sessions` and the related calls.
@Suite("A user's sessions")
struct SessionListTests {
    private func ids(_ app: TestApp, _ token: String) async throws -> [String] {
        try await app.sessions(token).compactMap { $0["id"]?.string }
    }

    /// A session of another user.
    private func stranger(_ app: TestApp) async throws -> String {
        app.carrier.script { $0.subject = "SUBJECT-of-somebody-else" }
        return try await app.token(SignInBody().code("CODE-stranger"))
    }

    @Test("are listed with all their details, the last seen first")
    func list() async throws {
        let app = try TestApp()
        let start = app.clock.now.secondsSinceEpoch
        let agent = "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0"
        let first = try #require(Tokens(try await app.signIn(userAgent: agent))).token
        app.clock.advance(bySeconds: 100)
        let second = try await app.token(SignInBody().code("CODE-2"))
        let sessions = try await app.sessions(second)
        #expect(
            sessions.first?.members.map(\.name) == [
                "id", "client_id", "device", "created_at", "last_seen_at", "expires_at", "current",
            ])
        #expect(sessions.map { $0["current"]?.bool } == [true, false])
        #expect(sessions.map { $0["device"]?.string } == [nil, "Firefox on Windows"])
        #expect(sessions.map { $0["created_at"]?.integer } == [start + 100, start])
        #expect(sessions.map { $0["last_seen_at"]?.integer } == [start + 100, start])
        #expect(sessions.map { $0["client_id"]?.string } == ["client-1", "client-1"])
        #expect(sessions.map { $0["expires_at"]?.integer } == [start + 100 + 14 * 86_400, start + 14 * 86_400])
        #expect(try await app.sessions(first).map { $0["current"]?.bool } == [false, true])
    }

    @Test("do not include other users' sessions or ended ones")
    func onlyOwn() async throws {
        let app = try TestApp()
        let (token, ended) = (try await app.token(), try await app.token(SignInBody().code("CODE-2")))
        let others = try await stranger(app)
        _ = try await app.asUser(.delete, "/auth/token", ended)
        #expect(try await ids(app, token).count == 1)
        #expect(try await ids(app, others).count == 1)
        #expect(try await ids(app, token) != ids(app, others))
    }

    @Test("keep their id after a refresh")
    func refreshed() async throws {
        let app = try TestApp()
        let old = try await app.tokens()
        let before = try await ids(app, old.token)
        let new = try #require(Tokens(try await app.refresh(old.refreshToken)))
        #expect(try await ids(app, new.token) == before)
        #expect(try await ids(app, old.token) == before)
    }

    @Test("were last seen when they were used, accurate to five minutes, which is stored")
    func lastSeen() async throws {
        let app = try TestApp()
        let start = app.clock.now.secondsSinceEpoch
        let (one, other) = (try await app.token(), try await app.token(SignInBody().code("CODE-2")))
        func seen() async throws -> Int64? {
            try await app.sessions(other).first { $0["current"]?.bool == false }?["last_seen_at"]?.integer
        }
        for (seconds, expected) in [(290, 0), (10, 300), (295, 300), (5, 600)] as [(Int64, Int64)] {
            app.clock.advance(bySeconds: seconds)
            #expect(try await app.me(one).status == 200)
            #expect(try await seen() == start + expected)
        }
        let user = try #require(try await app.me(one).integer("user_id"))
        func written() async throws -> [Int64] {
            try await app.store.sessions(of: UserID(user), at: app.clock.now, limit: 9)
                .map(\.lastSeenAt.secondsSinceEpoch).sorted()
        }
        #expect(try await written() == [start, start])
        try await app.useCases.sessions.writeLastSeen()
        // The other one was used for the request.
        #expect(try await written() == [start + 600, start + 600])
    }

    @Test("can be ended by id, at once, with their refresh tokens")
    func revokeOne() async throws {
        let app = try TestApp()
        let (one, other) = (try await app.tokens(), try await app.tokens(SignInBody().code("CODE-2")))
        #expect(try await app.me(other.token).status == 200)
        let list = try await app.sessions(one.token)
        let id = try #require(list.first { $0["current"]?.bool == false }?["id"]?.string)
        let answer = try await app.asUser(.delete, "/users/me/sessions/\(id)", one.token)
        #expect(answer.status == 200)
        #expect(answer.body == "{}")
        #expect(try await app.me(other.token).status == 401)
        #expect(try await app.refresh(other.refreshToken).status == 401)
        #expect(try await app.me(one.token).status == 200)
        let events = try await app.store.auditEvents(AuditQuery())
        #expect(events.map(\.event.kind.name) == ["session.revoked"])
        #expect(events.first?.event.actor == .user)
        #expect(events.first?.event.requestID == answer.requestID)
        #expect(events.first?.event.details.json == #"{"session_id":"\#(id)"}"#)
    }

    @Test("can end themselves")
    func revokeOwn() async throws {
        let app = try TestApp()
        let token = try await app.token()
        let id = try #require(try await ids(app, token).first)
        #expect(try await app.asUser(.delete, "/users/me/sessions/\(id)", token).status == 200)
        #expect(try await app.me(token).status == 401)
    }

    @Test("of other users are indistinguishable from unknown ones")
    func guessing() async throws {
        let app = try TestApp()
        let token = try await app.token()
        let victim = try await stranger(app)
        let id = try #require(try await ids(app, victim).first)
        var bodies: Set<String> = []
        for guess in [id, String(repeating: "A", count: 22), "x", String(repeating: "y", count: 500)] {
            let answer = try await app.asUser(.delete, "/users/me/sessions/\(guess)", token)
            #expect(answer.status == 404)
            #expect(answer.error == "not_found")
            bodies.insert(answer.body.replacing(answer.requestID ?? "", with: ""))
        }
        #expect(bodies.count == 1)
        #expect(try await app.me(victim).status == 200)
        #expect(try await app.store.auditEvents(AuditQuery()).isEmpty)
    }

    @Test("can be ended all but one, without ending other users' sessions")
    func revokeOthers() async throws {
        let app = try TestApp()
        let own = try await app.tokens()
        let others = [
            try await app.tokens(SignInBody().code("CODE-2")), try await app.tokens(SignInBody().code("CODE-3")),
        ]
        let strangers = try await stranger(app)
        for other in others { #expect(try await app.me(other.token).status == 200) }
        for count in [2, 0] as [Int64] {
            let answer = try await app.asUser(.delete, "/users/me/sessions", own.token)
            #expect(answer.status == 200)
            #expect(answer.integer("revoked") == count)
        }
        for other in others {
            #expect(try await app.me(other.token).status == 401)
            #expect(try await app.refresh(other.refreshToken).status == 401)
        }
        #expect(try await app.me(own.token).status == 200)
        #expect(try await app.me(strangers).status == 200)
        let events = try await app.store.auditEvents(AuditQuery())
        #expect(events.map(\.event.kind.name) == ["session.others_revoked"])
    }

    @Test("need a session and an API key", arguments: [HTTPRequest.Method.get, .delete])
    func unauthenticated(_ method: HTTPRequest.Method) async throws {
        let app = try TestApp()
        let token = try await app.token()
        for path in ["/users/me/sessions", "/users/me/sessions/x"] where method == .delete || !path.hasSuffix("x") {
            #expect(try await app.send(method, path).error == "invalid_token")
            let answer = try await app.send(method, path, [.authorization: "Bearer \(token)"], apiKey: nil)
            #expect(answer.error == "invalid_api_key")
        }
    }

    static let agents: [(agent: String, name: String?)] = [
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (iPad; CPU OS 18_0 like Mac OS X) CriOS/140.0 Mobile Safari/604.1", "Chrome on iPad"),
        ("Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/140.0 Safari/537.36", "Chrome on Android"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        ("Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36 OPR/120.0", "Opera on Linux"),
        ("Mozilla/5.0 (X11; CrOS x86_64) Chrome/140.0 Safari/537.36", "Chrome on ChromeOS"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/18.0 Safari/605.1.15", "Safari on Mac"),
        ("Example/1 CFNetwork/3826 Darwin/24.0.0", "Apple device"), ("okhttp/4.12.0", "Android"), ("curl/8.5.0", nil),
        ("<script>alert(1)</script>", nil), (String(repeating: "E", count: 4000), nil), ("", nil),
    ]

    @Test("are named after their devices, without text from the User-Agent", arguments: agents)
    func device(_ row: (agent: String, name: String?)) async throws {
        let app = try TestApp()
        let token = try #require(Tokens(try await app.signIn(userAgent: row.agent))).token
        #expect(try await app.sessions(token).map { $0["device"]?.string } == [row.name])
    }
}
