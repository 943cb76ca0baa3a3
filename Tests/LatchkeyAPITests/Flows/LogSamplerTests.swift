import HTTPServer
import HTTPTypes
import Logging
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

@testable import LatchkeyAPI
@testable import ProviderLogout

/// The log lines that anyone can cause: ten of each kind in a minute, and the number of the others in the next one.
@Suite("A log line that anyone can cause")
struct SampledLineTests {
    /// A request that is refused, and the message of its line.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let message: String
        let send: @Sendable (TestApp, _ number: Int) async throws -> Answer
    }

    private static let page: HTTPFields = [.contentType: "application/json", .secFetchSite: "same-origin"]
    private static let start = "/auth/zenkey/start?client_type=web&redirect_uri=https%3A%2F%2Fapp.example%2Fcb"

    static let rows = [
        Row(testDescription: "a refresh of an unknown token", message: "refresh refused") { app, number in
            try await app.refresh(String(repeating: "a", count: 40) + "\(number + 100)")
        },
        Row(testDescription: "a refresh of no token at all", message: "refresh refused") { app, number in
            try await app.refresh("\(number)")
        },
        Row(testDescription: "a registration with an unknown handle", message: "registration") { app, number in
            try await app.post("/users", #"{"state_key":"unknown-\#(number)"}"#)
        },
        Row(testDescription: "a start at an unknown network", message: "sign-in refused") { app, number in
            app.carrier.script { $0.discovery = { _ throws(OutboundError) in .json("{}", status: 404) } }
            return try await app.send(.get, "\(Self.start)&mccmnc=\(999_000 + number)", apiKey: nil)
        },
        Row(testDescription: "a page's sign-in with an invented code", message: "sign-in refused") { app, number in
            app.carrier.script {
                $0.token = { _ throws(OutboundError) in .json(#"{"error":"invalid_grant"}"#, status: 400) }
            }
            let body = SignInBody().code("CODE-\(number)").with("client_type", "\"web\"")
            return try await app.send(.post, "/auth/zenkey/sign-in", Self.page, body: body.json, apiKey: nil)
        },
        Row(testDescription: "a start without its fields", message: "request refused") { app, number in
            try await app.send(.get, "/auth/zenkey/start?correlation_id=junk-\(number)", apiKey: nil)
        },
    ]

    @Test("is left out beyond ten a minute, and counted", arguments: rows)
    func sampled(row: Row) async throws {
        let app = try TestApp(logLevel: .info)
        func lines() -> [CapturedLog.Line] { app.log.lines.filter { $0.message == row.message } }
        for number in 0..<12 { _ = try await row.send(app, number) }
        #expect(lines().count == 10)
        #expect(lines().allSatisfy { $0.metadata["left_out"] == nil })
        app.clock.advance(bySeconds: 60)
        _ = try await row.send(app, 12)
        #expect(lines().count == 11)
        #expect(lines().last?.metadata["left_out"] == "2")
    }

    @Test("is always there in a log at debug", arguments: rows)
    func whole(row: Row) async throws {
        let app = try TestApp(logLevel: .debug)
        for number in 0..<12 { _ = try await row.send(app, number) }
        #expect(app.log.lines.count { $0.message == row.message } == 12)
    }

    @Test("hides none of another kind, and none of a caller with an API key")
    func others() async throws {
        let app = try TestApp(logLevel: .info)
        for row in Self.rows { for number in 0..<12 { _ = try await row.send(app, number) } }
        let before = app.log.signIns.count
        for number in 0..<12 { _ = try await app.signIn(SignInBody().code("KEYED-\(number)")) }
        #expect(app.log.signIns.count == before + 12)
    }

    @Test("is that of a server error without an API key", arguments: [(true, 10), (false, 12)])
    func serverErrors(isKeyless: Bool, count: Int) throws {
        let (log, clock) = (CapturedLog(level: .info), ManualClock())
        let accessLog = AccessLog(logger: log.logger, refusals: LogSamplers(clock: clock.wallClock))
        var headers = HTTPFields()
        let name = try #require(HTTPField.Name("X-API-KEY"))
        if !isKeyless { headers[name] = "key" }
        let request = try Request(.get, "/auth/zenkey/start", headers: headers)
        for status in [502, 504] { for _ in 0..<12 { accessLog.write(request, status: status, took: 1) } }
        for status in ["502", "504"] { #expect(log.lines.count { $0.metadata["status"] == status } == count) }
    }
}

/// The log lines of logout tokens that anyone can post.
@Suite("Refused logout tokens")
struct LogSamplerTests {
    /// An app with two OpenID providers.
    private struct Stage {
        let app: TestApp
        let logout: BackchannelLogout

        init() throws {
            app = try TestApp(logLevel: .info)
            let client = SignInConfiguration.Client(id: try #require(ClientID("client-1")), secret: Secret("s"))
            let url = try #require(EndpointURL(FakeCarrier.discoveryURL, policy: .httpsOnly))
            let party = RelyingParty(
                configuration: RelyingParty.Configuration(discoveryURL: url), http: app.carrier.http,
                clock: app.clock.wallClock)
            let useCases = UseCases(
                providers: Providers(
                    ["acme", "globex"].map { name in
                        Provider(
                            name: name, title: name,
                            kind: .openID(AuthorizationServer(party, clients: [client])))
                    }), configuration: SignInConfiguration(), store: app.store, logger: app.log.logger,
                clock: app.clock.wallClock)
            logout = BackchannelLogout(
                environment: useCases.environment, sessions: useCases.sessions, store: app.testStore.store)
        }

        func post(_ count: Int, to provider: String = "acme") async {
            for number in 0..<count {
                _ = try? await logout(
                    provider: provider, logoutToken: Secret("junk-\(number)"), requestID: "r")
            }
        }

        var lines: [[String: String]] {
            app.log.lines.filter { $0.message == "back-channel logout refused" }.map(\.metadata)
        }
    }

    @Test("are logged ten times a minute for each provider, and the next line has the number of the others")
    func sampled() async throws {
        let stage = try Stage()
        await stage.post(1000)
        #expect(stage.lines.count == 10)
        #expect(stage.lines.allSatisfy { $0["left_out"] == nil && $0["provider"] == "acme" })
        await stage.post(3, to: "globex")
        #expect(stage.lines.count == 13)
        stage.app.clock.advance(bySeconds: 59)
        await stage.post(1)
        #expect(stage.lines.count == 13)
        stage.app.clock.advance(bySeconds: 1)
        await stage.post(2)
        #expect(stage.lines.count == 15)
        #expect(stage.lines[13]["left_out"] == "991")
        #expect(stage.lines[14]["left_out"] == nil)
    }

    @Test("are logged again if the clock was set back")
    func clockSetBack() async throws {
        let stage = try Stage()
        await stage.post(11)
        stage.app.clock.advance(bySeconds: -3600)
        await stage.post(1)
        #expect(stage.lines.count == 11)
        #expect(stage.lines[10]["left_out"] == "1")
    }
}
