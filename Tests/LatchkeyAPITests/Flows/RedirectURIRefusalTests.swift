import HTTPTypes
import Logging
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// What the operator, the developer and the person learn of a redirect URI that is not registered.
@Suite("A redirect URI that is not registered")
struct RedirectURIRefusalTests {
    private static let page = "https://app.example/cb"
    private static let own = "com.example.app://cb"

    private func start(_ app: TestApp, _ uri: String) async throws -> Answer {
        let items = [(name: "client_type", value: "web"), (name: "redirect_uri", value: uri)]
        let query = String(decoding: PercentEncoding.form(items), as: UTF8.self)
        return try await app.send(
            .get, "/auth/bank/start?" + query, [.accept: "application/json"], apiKey: nil)
    }

    @Test(
        "is in the log, without its query, beside the nearest registered one",
        arguments: [
            ("https://app.example/cb/", "https://app.example/cb/", page),
            ("http://app.example/cb", "http://app.example/cb", page),
            ("https://app.example/cb?session=S3CRET", "https://app.example/cb?…", page),
            ("https://app.example/cb#S3CRET", "https://app.example/cb?…", page),
            ("com.example.app:/cb", "com.example.app:/cb", own),
            ("https://app.example/" + String(repeating: "x", count: 400), "xxx…,", page),
        ])
    func log(_ uri: String, _ shown: String, _ nearest: String) async throws {
        let app = try TestApp { $0.redirectURIs = [Self.own, Self.page] }
        let started = try await start(app, uri)
        let signedIn = try await app.signIn(SignInBody().with("redirect_uri", JSONValue.string(uri).text))
        for answer in [started, signedIn] {
            #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.body)")
            #expect(answer.description.contains("redirect_uri is not one of"))
            #expect(answer.json?["message"]?.string?.contains("not set up correctly") == true, "\(answer.body)")
            #expect(!answer.body.contains(nearest) && !answer.body.contains("S3CRET"), "\(answer.body)")
        }
        let lines = app.log.lines.filter { ["start refused", "sign-in refused"].contains($0.message) }
        #expect(lines.count == 2, "\(app.log.lines)")
        for line in lines {
            let cause = line.metadata["cause"] ?? ""
            #expect(cause.contains(shown) && cause.hasSuffix("the nearest registered one is \(nearest)"), "\(cause)")
            #expect(!cause.contains("S3CRET"))
        }
    }

    @Test("is in the log also where the client has no registered one")
    func none() async throws {
        let app = try TestApp { $0.redirectURIs = [] }
        #expect(try await start(app, Self.page).status == 400)
        let cause = app.log.lines.first { $0.message == "start refused" }?.metadata["cause"]
        #expect(cause == "redirect_uri is \(Self.page), and the client has no registered one")
    }

    @Test("is in the log also at a sign-out")
    func signOut() async throws {
        let app = try TestApp { $0.redirectURIs = [Self.page] }
        let answer = try await app.send(
            .post, "/auth/bank/logout",
            [.authorization: "Bearer \(try await app.token())", .contentType: "application/json"],
            body: #"{"post_logout_redirect_uri":"https://app.example/other?session=S3CRET"}"#)
        #expect(answer.status == 400 && answer.error == "invalid_request", "\(answer.body)")
        let lines = app.log.lines.filter { $0.message == "sign-out refused" }
        #expect(lines.map { $0.metadata["provider"] } == ["bank"], "\(app.log.lines)")
        let cause = lines.first?.metadata["cause"]
        #expect(
            cause == "redirect_uri is https://app.example/other?…, which is not registered; the nearest registered one "
                + "is \(Self.page)")
    }

    struct Call: Sendable, CustomTestStringConvertible {
        var method = HTTPRequest.Method.post
        let path: String
        var body = ""
        var headers: @Sendable (_ token: String) -> HTTPFields = { _ in [:] }
        var says = "redirectURI is not one of"

        var testDescription: String { "\(method) \(path)" }
    }

    private static let signIn = SignInBody().code("CODE-2").with("redirect_uri", nil)
        .with("redirectURI", "\"https://evil.example/cb\"")
    private static let start = #""client_id":"client-1","redirectURI":"https://evil.example/cb"}"#

    static let calls: [Call] = [
        Call(path: "/auth/zenkey/sign-in", body: signIn.json),
        Call(
            path: "/users/me/identities", body: signIn.with("provider", "\"zenkey\"").json,
            headers: { [.authorization: "Bearer \($0)"] }),
        Call(
            path: "/auth/zenkey/authorize", body: signIn.with("context", "\"Pay\"").with("acr_values", "\"a3\"").json,
            headers: { [.authorization: "Bearer \($0)"] }),
        Call(
            method: .get,
            path: "/auth/bank/start?client_type=web&client_id=client-1&redirectUri=https%3A%2F%2Fevil.example%2Fcb",
            says: "redirectUri is not one of"),
        Call(path: "/auth/bank/start", body: #"{"client_type":"ios","# + start),
        Call(
            path: "/auth/bank/link", body: #"{"client_type":"web","# + start,
            headers: { [.cookie: "__Host-latchkey_session=\($0)", .origin: "https://login.example"] }),
        Call(
            path: "/auth/zenkey-async-signin",
            body: #"{"login_hint":"+13105551234","scope":"openid","mccmnc":"310410","# + start),
        Call(
            path: "/auth/bank/backchannel", body: #"{"login_hint":"jane@example.com","clientId":"nobody"}"#,
            says: "clientId is not one of"),
    ]

    @Test("is called in every call what the client called it, and so is an unknown client", arguments: calls)
    func sentName(_ call: Call) async throws {
        let app = try TestApp { $0.redirectURIs = [Self.page] }
        var headers = call.headers(try await app.token())
        headers[.accept] = "application/json"
        if call.method == .post { headers[.contentType] = "application/json" }
        let answer = try await app.send(call.method, call.path, headers, body: call.body)
        #expect(answer.status == 400 && answer.description.hasPrefix(call.says), "\(answer.body)")
    }

    @Test("has at most ten lines in a minute, because anyone can send it")
    func flood() async throws {
        let app = try TestApp(client: { $0.redirectURIs = [Self.page] }, logLevel: .info)
        for number in 0..<30 { _ = try await start(app, "https://evil.example/\(number)") }
        #expect(app.log.lines.filter { $0.message == "start refused" }.count == 10)
    }
}
