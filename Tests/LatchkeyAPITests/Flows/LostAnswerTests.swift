import HTTPTypes
import OpenIDConnect
import Primitives
import Redirects
import SignIn
import StorageModel
import Synchronization
import TestSupport
import Testing

/// Requests that give a session, whose answer never arrives: the client sends them again.
@Suite("A request whose answer was lost", .serialized)
struct LostAnswerTests {
    /// Where the answer is lost.
    enum Loss: String, CaseIterable { case beforeCommit, afterCommit, afterAnswer }

    /// What gets the same request again: the instance that had it, or another one that shares the database. On SQLite
    /// that is the process after a restart.
    enum Place: String, CaseIterable { case same, other }

    enum Engine: String, CaseIterable {
        case sqlite, postgres

        func store() throws -> TestStore {
            switch self {
            case .sqlite: try TestStore()
            case .postgres: try TestStore(in: .shared())
            }
        }
    }

    /// A request that is ready to be sent, to any instance.
    private struct Ready: Sendable {
        /// Sends it; another proof in the place of its own.
        let send: @Sendable (TestApp, _ proof: String?) async throws -> Answer
        /// The token of the session that an answer gives; nil if it gives none.
        let token: @Sendable (TestApp, Answer) async throws -> String?
    }

    /// A kind of request.
    enum Kind: String, CaseIterable {
        case refresh, exchange, registration, registrationAfterRedirect, registrationPage, pageCallback, appCallback
        case code, link, linkCallback

        /// The call of the store with which its result is committed.
        var commit: StoreScript.Call {
            switch self {
            case .refresh: .rotate
            case .exchange: .addOneTimeRecord
            case .registration, .registrationAfterRedirect, .registrationPage: .register
            case .pageCallback, .appCallback, .code: .signIn
            case .link, .linkCallback: .link
            }
        }

        var mustRegister: Bool { [.registration, .registrationAfterRedirect, .registrationPage].contains(self) }

        /// A code that was redeemed before its result was committed is known to its own process alone. The provider
        /// takes no code twice, so that the user signs in again.
        func isForgotten(_ loss: Loss, _ place: Place) -> Bool {
            [.pageCallback, .appCallback, .code].contains(self) && (loss, place) == (.beforeCommit, .other)
        }
    }

    private static let page = "https://login.example/base/sign-in"
    private static let verifier = SignInBody.verifier
    private static let site = HTTPField.Name("Sec-Fetch-Site")

    // MARK: The instances

    private func app(_ kind: Kind, _ engine: Engine) throws -> TestApp { try make(kind, store: engine.store()) }

    private func instance(_ place: Place, of app: TestApp, _ kind: Kind) throws -> TestApp {
        try place == .same ? app : make(kind, beside: app)
    }

    private func make(_ kind: Kind, beside app: TestApp? = nil, store: TestStore? = nil) throws -> TestApp {
        var rules = TestRegistration()
        rules.isRequired = kind.mustRegister
        return try TestApp(
            beside: app, store: store, allowedOrigins: ["https://app.example"],
            client: { $0.redirectURIs = [Self.page, "https://app.example/cb", "com.example.app://cb"] },
            registration: rules, rules: { $0.pkce = .off })
    }

    /// A carrier that redeems each code once.
    private func redeemOnce(_ app: TestApp) {
        let redeemed = Mutex(Set<String>())
        app.carrier.script { [carrier = app.carrier] script in
            script.token = { request throws(OutboundError) in
                let code = String(decoding: request.body, as: UTF8.self).split(separator: "&").first {
                    $0.hasPrefix("code=")
                }
                let isNew = redeemed.withLock { $0.insert(code.map(String.init) ?? "").inserted }
                return isNew ? carrier.tokens() : .json(#"{"error":"invalid_grant"}"#, status: 400)
            }
        }
    }

    // MARK: The requests

    /// A browser at the end of its way to the provider.
    private struct Arrival: Sendable {
        let state: String
        let cookies: String
        var provider = "zenkey"

        func come(_ app: TestApp, _ cookies: String? = nil) async throws -> Answer {
            try await app.send(
                .get, "/auth/\(provider)/callback?code=CODE-of-the-browser&state=\(state)",
                [.cookie: cookies ?? self.cookies],
                apiKey: nil)
        }
    }

    private func arrive(
        _ app: TestApp, _ clientType: String, at uri: String, isChallenged: Bool = false, link session: String? = nil,
        provider: String = "zenkey"
    ) async throws -> Arrival {
        var query = "client_type=\(clientType)&redirect_uri=\(uri)\(provider == "zenkey" ? "&mccmnc=310410" : "")"
        if isChallenged { query += "&code_challenge=\(try Self.challenge())&code_challenge_method=S256" }
        var headers: HTTPFields = [.accept: "text/html"]
        let started: Answer
        if let session {
            headers[.cookie] = "__Host-latchkey_session=\(session)"
            headers[.contentType] = "application/x-www-form-urlencoded"
            headers[try #require(Self.site)] = "same-origin"
            started = try await app.send(.post, "/auth/\(provider)/link", headers, body: query, apiKey: nil)
        } else {
            started = try await app.send(.get, "/auth/\(provider)/start?" + query, headers, apiKey: nil)
        }
        let asked = started.parameters
        app.carrier.script { $0.nonce = asked["nonce"] }
        var cookies = started.newCookies
        if let session { cookies["__Host-latchkey_session"] = session }
        return Arrival(
            state: try #require(asked["state"], "\(started.body)"),
            cookies: cookies.map { "\($0)=\($1)" }.joined(separator: "; "), provider: provider)
    }

    private static func challenge() throws -> String { try #require(CodeVerifier(verifier)).challenge }

    private func exchange(_ app: TestApp, _ id: String, _ verifier: String?) async throws -> Answer {
        try await app.form("/auth/session", "session_id=\(id)" + (verifier.map { "&code_verifier=\($0)" } ?? ""))
    }

    private func prepare(_ kind: Kind, _ app: TestApp) async throws -> Ready {
        redeemOnce(app)
        let token: @Sendable (TestApp, Answer) async throws -> String? = { $1.text("token") }
        switch kind {
        case .refresh:
            let old = try await app.tokens()
            return Ready(send: { app, _ in try await app.refresh(old.refreshToken) }, token: token)
        case .code:
            return Ready(
                send: {
                    try await $0.signIn($1.map { SignInBody().with("code_verifier", "\"\($0)\"") } ?? SignInBody())
                },
                token: token)
        case .exchange:
            let done = try await arrive(app, "ios", at: "com.example.app://cb", isChallenged: true).come(app)
            let id = try #require(done.parameters["session_id"], "\(done.body)")
            return Ready(send: { try await exchange($0, id, $1 ?? Self.verifier) }, token: token)
        case .registration:
            let handle = try #require(try await app.signIn().text("state_key"))
            return Ready(
                send: { try await $0.post("/users", #"{"state_key":"\#(handle)","name":"\#($1 ?? "Jane")"}"#) },
                token: token)
        case .registrationAfterRedirect:
            let done = try await arrive(app, "ios", at: "com.example.app://cb", isChallenged: true).come(app)
            let handle = try #require(done.parameters["state_key"], "\(done.body)")
            return Ready(
                send: {
                    try await $0.post(
                        "/users", #"{"state_key":"\#(handle)","code_verifier":"\#($1 ?? Self.verifier)"}"#)
                }, token: token)
        case .registrationPage:
            let arrival = try await arrive(app, "web", at: Self.page)
            let cookies = try await arrival.come(app).newCookies
            let cookie = "__Host-latchkey_registration=" + (cookies["__Host-latchkey_registration"] ?? "")
            let shown = try await app.send(.get, "/register", [.cookie: cookie], apiKey: nil)
            let id = String(try #require(shown.body.firstMatch(of: /name="registration" value="([^"]*)"/)?.1))
            return Ready(
                send: { app, proof in
                    var headers: HTTPFields = [.cookie: proof.map { "__Host-latchkey_registration=\($0)" } ?? cookie]
                    headers[.contentType] = "application/x-www-form-urlencoded"
                    if let site = Self.site { headers[site] = "same-origin" }
                    return try await app.send(
                        .post, "/register", headers, body: "registration=\(id)&name=Jane", apiKey: nil)
                }, token: { $1.newCookies["__Host-latchkey_session"] })
        case .pageCallback:
            let arrival = try await arrive(app, "web", at: "https://app.example/cb")
            return Ready(send: arrival.come, token: { $1.newCookies["__Host-latchkey_session"] })
        case .appCallback:
            let arrival = try await arrive(app, "ios", at: "com.example.app://cb", isChallenged: true)
            return Ready(
                send: arrival.come,
                token: { app, answer in
                    guard let id = answer.parameters["session_id"] else { return nil }
                    return try await exchange(app, id, Self.verifier).text("token")
                })
        case .link:
            let session = try await app.token(SignInBody().code("CODE-of-the-first"))
            app.carrier.script { $0.subject = "SUBJECT-at-another" }
            let body = SignInBody().with("provider", "\"zenkey\"")
            return Ready(
                send: { app, proof in
                    let sent = proof.map { body.with("code_verifier", "\"\($0)\"") } ?? body
                    return try await app.send(
                        .post, "/users/me/identities",
                        [.authorization: "Bearer \(session)", .contentType: "application/json"], body: sent.json)
                }, token: { $1.text("id").map { _ in session } })
        case .linkCallback:
            let session = try await app.token(SignInBody().code("CODE-of-the-first"))
            app.carrier.script { $0.subject = "SUBJECT-at-another" }
            let arrival = try await arrive(app, "web", at: Self.page, link: session)
            return Ready(send: arrival.come, token: { $1.parameters["status"] == "success" ? session : nil })
        }
    }

    /// The user of a session; nil if it has ended.
    private func user(_ token: String?, _ app: TestApp) async throws -> Int64? {
        guard let token else { return nil }
        return try await app.me(token).integer("user_id")
    }

    /// The user who signs in now with the identity of the request.
    private func currentUser(_ app: TestApp) async throws -> Int64? {
        app.carrier.script { ($0.token, $0.nonce) = (nil, "NONCE-of-the-app") }
        return try await user(app.token(SignInBody().code("CODE-of-later")), app)
    }

    // MARK: What happens

    @Test(
        "gives a session of the same user when it is sent again, and ends none",
        arguments: Kind.allCases, [Engine.sqlite, .postgres])
    func sentAgain(kind: Kind, engine: Engine) async throws {
        for loss in Loss.allCases {
            for place in Place.allCases {
                let app = try app(kind, engine)
                let ready = try await prepare(kind, app)
                let failure = StorageError(.unavailable, reason: "scripted")
                if loss == .beforeCommit { app.storeScript.fail(kind.commit, with: failure) }
                if loss == .afterCommit { app.storeScript.lose(kind.commit, with: failure) }
                let first = try await ready.send(app, nil)
                app.storeScript.fail(kind.commit, with: nil)
                app.storeScript.lose(kind.commit, with: nil)
                let given = loss == .afterAnswer ? try await ready.token(app, first) : nil
                #expect((given != nil) == (loss == .afterAnswer), "\(loss), \(place): \(first)")

                let retried = try instance(place, of: app, kind)
                let posts = app.carrier.tokenPosts
                let again = try await ready.send(retried, nil)
                let token = try await ready.token(retried, again)
                let now = try await user(token, retried)
                #expect((now == nil) == kind.isForgotten(loss, place), "\(loss), \(place): \(again)")
                if given != nil, kind != .refresh {
                    #expect(try await user(given, retried) == now, "\(loss), \(place)")
                }
                let mayPost = kind == .code && kind.isForgotten(loss, place)
                #expect(app.carrier.tokenPosts == posts + (mayPost ? 1 : 0), "\(loss), \(place)")
                // One user, whatever happened.
                let later = try await currentUser(retried)
                #expect(later != nil && (now == nil || now == later), "\(loss), \(place)")
            }
        }
    }

    @Test(
        "gives nothing if its user has signed out or was erased meanwhile",
        arguments: Kind.allCases.filter { $0 != .refresh }, [Engine.sqlite, .postgres])
    func afterTheEnd(kind: Kind, engine: Engine) async throws {
        for path in ["/auth/token", "/users/me"] {
            for place in Place.allCases {
                let app = try app(kind, engine)
                let ready = try await prepare(kind, app)
                let token = try #require(try await ready.token(app, ready.send(app, nil)))
                #expect(try await app.asUser(.delete, path, token).status == 200)
                let instance = try instance(place, of: app, kind)
                let posts = app.carrier.tokenPosts
                let again = try await ready.send(instance, nil)
                // The end of a link that the same process repeats has no session.
                let now = try await user(ready.token(instance, again), instance)
                #expect(now == nil, "\(path), \(place): \(again)")
                #expect(app.carrier.tokenPosts == posts)
            }
        }
    }

    /// Another proof than that of the sender: a verifier, or the cookies of a browser.
    private static func foreignProof(_ kind: Kind) -> String {
        switch kind {
        case .pageCallback, .appCallback, .linkCallback: "__Host-latchkey_browser=" + String(repeating: "b", count: 43)
        case .registrationPage: String(repeating: "c", count: 43) + ".." + Base64URL.encode(Array("/".utf8)) + ".x"
        default: "VERIFIER-of-a-thief-" + String(repeating: "w", count: 40)
        }
    }

    @Test(
        "gives nothing to who has no proof, at any instance, and does not fail its sender for that",
        arguments: Kind.allCases.filter { $0 != .refresh }, [Engine.sqlite, .postgres])
    func foreignProof(kind: Kind, engine: Engine) async throws {
        for place in Place.allCases {
            let app = try app(kind, engine)
            let ready = try await prepare(kind, app)
            let first = try await ready.send(app, nil)
            let given = try #require(try await ready.token(app, first))
            let instance = try instance(place, of: app, kind)
            let stolen = try await ready.send(instance, Self.foreignProof(kind))
            #expect(try await ready.token(instance, stolen) == nil, "\(place): \(stolen)")
            #expect(try await user(given, instance) != nil)
            // A wrong verifier uses the session_id up.
            let again = try await ready.token(instance, ready.send(instance, nil))
            #expect((again == nil) == (kind == .exchange), "\(place)")
        }
    }

    @Test("gives nothing to another caller, at any instance", arguments: Kind.allCases, [Engine.sqlite, .postgres])
    func otherCaller(kind: Kind, engine: Engine) async throws {
        guard [.exchange, .registration, .registrationAfterRedirect].contains(kind) else { return }
        for place in Place.allCases {
            let app = try app(kind, engine)
            let done: Answer
            let (path, body): (String, String)
            if kind == .registration {
                let handle = try #require(try await app.signIn().text("state_key"))
                (path, body) = ("/users", "state_key=\(handle)")
            } else {
                redeemOnce(app)
                done = try await arrive(app, "ios", at: "com.example.app://cb", isChallenged: true).come(app)
                let name = kind == .exchange ? "session_id" : "state_key"
                path = kind == .exchange ? "/auth/session" : "/users"
                body = "\(name)=\(try #require(done.parameters[name]))&code_verifier=\(Self.verifier)"
            }
            let first = try #require(try await app.form(path, body).text("token"))
            let instance = try instance(place, of: app, kind)
            let other = try await instance.form(path, body, apiKey: TestApp.otherAPIKey)
            #expect(other.status == 401 && other.text("token") == nil, "\(place): \(other)")
            #expect(try await instance.form(path, body).text("token") == first)
        }
    }

    @Test("gives nothing a second time if anyone who has read its URL could send it", arguments: Place.allCases)
    func withoutProof(place: Place) async throws {
        for kind in [Kind.exchange, .registrationAfterRedirect] {
            let app = try app(kind, .sqlite)
            let done = try await arrive(app, "ios", at: "com.example.app://cb").come(app)
            let name = kind == .exchange ? "session_id" : "state_key"
            let body = "\(name)=\(try #require(done.parameters[name]))"
            let path = kind == .exchange ? "/auth/session" : "/users"
            #expect(try await app.form(path, body).text("token") != nil)
            #expect(try await instance(place, of: app, kind).form(path, body).error == "invalid_token")
        }
    }

    @Test("gives nothing after its time, at any instance", arguments: Place.allCases)
    func tooLate(place: Place) async throws {
        // A link that an app sends is a new one then, and its code is used. The process that had a callback keeps its
        // end for longer.
        for kind in Kind.allCases where kind != .refresh {
            let isKept = place == .same && [.pageCallback, .appCallback, .linkCallback].contains(kind)
            guard !isKept else { continue }
            let app = try app(kind, .sqlite)
            let ready = try await prepare(kind, app)
            #expect(try await ready.token(app, ready.send(app, nil)) != nil)
            app.clock.advance(bySeconds: kind == .exchange ? 120 : 62)
            let instance = try instance(place, of: app, kind)
            let again = try await ready.send(instance, nil)
            #expect(try await ready.token(instance, again) == nil, "\(kind): \(again)")
        }
    }

    @Test("gives the same session, and a page keeps the one that it has", arguments: Place.allCases)
    func samePage(place: Place) async throws {
        for kind in [Kind.exchange, .registration] {
            let app = try app(kind, .sqlite)
            let (path, body): (String, String)
            if kind == .exchange {
                let done = try await arrive(app, "ios", at: "com.example.app://cb", isChallenged: true).come(app)
                path = "/auth/session"
                body = "session_id=\(try #require(done.parameters["session_id"]))&code_verifier=\(Self.verifier)"
            } else {
                (path, body) = ("/users", "state_key=\(try #require(try await app.signIn().text("state_key")))")
            }
            var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
            headers[try #require(Self.site)] = "same-origin"
            let sent = body + "&client_type=web"
            let first = try await app.send(.post, path, headers, body: sent, apiKey: nil)
            let cookies = first.newCookies
            let session = try #require(cookies["__Host-latchkey_session"], "\(first)")
            headers[.cookie] = cookies.map { "\($0)=\($1)" }.joined(separator: "; ")
            let instance = try instance(place, of: app, kind)
            let again = try await instance.send(.post, path, headers, body: sent, apiKey: nil)
            #expect(again.newCookies["__Host-latchkey_session"] == session, "\(again)")
            #expect(try await user(session, instance) != nil)
        }
    }

    @Test("gives nothing once its refresh token was used", arguments: [Kind.exchange, .registration])
    func refreshedSince(kind: Kind) async throws {
        let app = try app(kind, .sqlite)
        let ready = try await prepare(kind, app)
        let tokens = try #require(Tokens(try await ready.send(app, nil)))
        let next = try #require(Tokens(try await app.refresh(tokens.refreshToken)))
        #expect(try await ready.send(app, nil).error == "invalid_token")
        #expect(try await app.me(next.token).status == 200)
    }

    @Test("is a theft if the successor of its refresh token was used, at any instance", arguments: Engine.allCases)
    func theft(engine: Engine) async throws {
        for place in Place.allCases {
            let app = try app(.refresh, engine)
            let old = try await app.tokens()
            let new = try #require(Tokens(try await app.refresh(old.refreshToken)))
            let instance = try instance(place, of: app, .refresh)
            let third = try #require(Tokens(try await instance.refresh(new.refreshToken)))
            #expect(try await instance.refresh(old.refreshToken).error == "invalid_grant")
            for token in [old, new, third] { #expect(try await instance.refresh(token.refreshToken).status == 401) }
            #expect(try await user(third.token, instance) == nil)
        }
    }

    @Test("of a browser has a retry also where there is no code verifier", arguments: Engine.allCases)
    func withoutVerifier(engine: Engine) async throws {
        let app = try app(.pageCallback, engine)
        redeemOnce(app)
        let arrival = try await arrive(app, "web", at: "https://app.example/cb", provider: TestApp.provider)
        let first = try await arrival.come(app)
        #expect(first.parameters["status"] == "success", "\(first)")
        let other = try instance(.other, of: app, .pageCallback)
        let again = try await arrival.come(other)
        #expect(try await user(again.newCookies["__Host-latchkey_session"], other) != nil, "\(again)")
        #expect(app.carrier.tokenPosts == 1)
    }

    @Test("of a browser does not end the session that the browser got by it", arguments: Engine.allCases)
    func heldSession(engine: Engine) async throws {
        for place in Place.allCases {
            let app = try app(.pageCallback, engine)
            let arrival = try await arrive(app, "web", at: "https://app.example/cb")
            let cookies = try await arrival.come(app).newCookies
            let session = try #require(cookies["__Host-latchkey_session"])
            let instance = try instance(place, of: app, .pageCallback)
            for _ in 0..<3 {
                let held = arrival.cookies + "; " + cookies.map { "\($0)=\($1)" }.joined(separator: "; ")
                #expect(try await arrival.come(instance, held).parameters["status"] == "success", "\(place)")
                #expect(try await user(session, instance) != nil, "\(place)")
            }
        }
    }

    @Test("of a link is not a request of another session", arguments: Engine.allCases)
    func otherSession(engine: Engine) async throws {
        for place in Place.allCases {
            let app = try app(.link, engine)
            app.carrier.script { $0.subject = "SUBJECT-of-another" }
            let stranger = try await app.token(SignInBody().code("CODE-of-a-stranger"))
            app.carrier.script { $0.subject = "SUBJECT-of-jane" }
            let ready = try await prepare(.link, app)
            #expect(try await ready.send(app, nil).status == 201)
            let instance = try instance(place, of: app, .link)
            let answer = try await instance.send(
                .post, "/users/me/identities",
                [.authorization: "Bearer \(stranger)", .contentType: "application/json"],
                body: SignInBody().with("provider", "\"zenkey\"").json)
            #expect(answer.error == "invalid_grant", "\(place): \(answer)")
        }
    }

    @Test("of a browser is not brought into another sign-in", arguments: Place.allCases)
    func codeOfAnother(place: Place) async throws {
        let app = try app(.pageCallback, .sqlite)
        redeemOnce(app)
        let first = try await arrive(app, "web", at: "https://app.example/cb")
        #expect(try await first.come(app).parameters["status"] == "success")
        let second = try await arrive(app, "web", at: "https://app.example/cb")
        let instance = try instance(place, of: app, .pageCallback)
        let mixed = try await second.come(instance)
        #expect(mixed.parameters["status"] == "failure" && mixed.newCookies["__Host-latchkey_session"] == nil)
        #expect(app.carrier.tokenPosts == 1)
    }

    /// With room for the record of one code.
    private func narrow(beside other: TestApp? = nil, _ engine: Engine) throws -> TestApp {
        try TestApp(
            beside: other, store: other == nil ? engine.store() : nil, allowedOrigins: ["https://app.example"],
            client: { $0.redirectURIs = ["https://app.example/cb"] },
            rules: { ($0.pkce, $0.nonce) = (.off, .off) }, redirects: { $0.maximumPending = 1 })
    }

    private func arriveAtNarrow(_ app: TestApp) async throws -> Arrival {
        try await arrive(app, "web", at: "https://app.example/cb", provider: TestApp.provider)
    }

    /// Takes the place of the oldest code that counts at the instance.
    private func flood(_ app: TestApp) async throws {
        let arrival = try await arriveAtNarrow(app)
        _ = try await app.send(
            .get, "/auth/\(TestApp.provider)/callback?code=CODE-of-the-flood&state=\(arrival.state)",
            [.cookie: arrival.cookies], apiKey: nil)
    }

    /// The record of a code has given way to another one. Then `state` alone tells the sign-ins apart.
    @Test(
        "of a browser gives nothing to another browser that has its code, at any instance",
        arguments: Place.allCases, Engine.allCases)
    func codeOfAnotherForgotten(place: Place, engine: Engine) async throws {
        let first = try narrow(engine)
        redeemOnce(first)
        #expect(try await arriveAtNarrow(first).come(first).parameters["status"] == "success")
        try await flood(first)
        let instance = place == .same ? first : try narrow(beside: first, engine)
        let posts = first.carrier.tokenPosts
        let stolen = try await arriveAtNarrow(instance).come(instance)
        #expect(stolen.parameters["status"] == "failure", "\(stolen)")
        #expect(stolen.newCookies["__Host-latchkey_session"] == nil)
        // It was a new one for all that was known here, and the provider has refused it.
        #expect(first.carrier.tokenPosts == posts + 1)
    }

    @Test("of a browser is remembered, although another browser brings its code to another instance, and many more")
    func codeOfAnotherElsewhere() async throws {
        let first = try narrow(.sqlite)
        redeemOnce(first)
        #expect(try await arriveAtNarrow(first).come(first).parameters["status"] == "success")
        let instance = try narrow(beside: first, .sqlite)
        #expect(try await arriveAtNarrow(instance).come(instance).parameters["status"] == "failure")
        try await flood(instance)
        let posts = first.carrier.tokenPosts
        #expect(try await arriveAtNarrow(instance).come(instance).parameters["status"] == "failure")
        #expect(first.carrier.tokenPosts == posts)
    }
}

extension Answer {
    var parameters: [String: String] {
        var parameters: [String: String] = [:]
        for item in (headers[.location]?.split(separator: "?").last ?? "").split(separator: "&") {
            let pair = item.split(separator: "=", maxSplits: 1).map(String.init)
            if pair.count == 2 { parameters[pair[0]] = pair[1] }
        }
        return parameters
    }

    /// The cookies that it sets.
    var newCookies: [String: String] {
        headers[values: .setCookie].reduce(into: [:]) { cookies, field in
            let pair = field.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1).map(String.init)
            if pair.count == 2 { cookies[pair[0]] = pair[1] }
        }
    }
}
