import HTTPTypes
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

    @Test("has at most ten lines in a minute, because anyone can send it")
    func flood() async throws {
        let app = try TestApp { $0.redirectURIs = [Self.page] }
        for number in 0..<30 { _ = try await start(app, "https://evil.example/\(number)") }
        #expect(app.log.lines.filter { $0.message == "start refused" }.count == 10)
    }
}
