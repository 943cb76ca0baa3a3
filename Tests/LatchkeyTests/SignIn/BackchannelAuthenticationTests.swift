import CarrierSimulator
import Crypto
import HTTPServer
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyFeatures
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

@testable import Backchannel

/// Backchannel authentication over real sockets: the simulated carriers check the request object's signature and call
/// the notification endpoint themselves.
@Suite(.serialized) struct BackchannelAuthenticationOverSocketsTests {
    typealias Fault = CarrierSimulator.Fault

    private func withHarness(
        key: P256.Signing.PrivateKey = P256.Signing.PrivateKey(), registered: P256.Signing.PrivateKey? = nil,
        configure: (inout Configuration) -> Void = { _ in }, _ body: (BackchannelHarness) async throws -> Void
    ) async throws {
        try await BackchannelHarness.with(key: key, registered: registered, configure: configure, body)
    }

    @Test(
        "A user is asked on the phone, approves, and is signed in",
        arguments: ["310010", "310410", "310260", "311870"])
    func wholeLife(mccmnc: String) async throws {
        try await withHarness { harness in
            let started = try await harness.start(mccmnc)
            #expect(started.status == 200)
            #expect(started.json["expires_in"]?.integer == 300)
            let handle = try #require(started.json["auth_req_id"]?.string)
            let id = try #require(harness.simulator.backchannelAuthenticationRequests(at: mccmnc).first)
            #expect(handle != id)
            #expect(try await harness.simulator.complete(id, .approved) == [204])
            let done = try await harness.poll(handle)
            #expect(done.status == 200)
            let token = try #require(done.token)
            let me = try await harness.app.me(token)
            #expect(me.json["email"]?.string == "jane.doe@example.com")

            // The same user as by a code.
            let byCode = try #require(
                try await harness.app.signIn(try harness.base.authorizedResponse(mccmnc: mccmnc)).token)
            #expect(try await harness.app.me(byCode).json["user_id"]?.integer == me.json["user_id"]?.integer)
        }
    }

    @Test("A denial and a timeout have different errors")
    func refused() async throws {
        try await withHarness { harness in
            for (code, type) in [
                ("access_denied", "requestDenied"), ("authentication_timed_out", "requestTimeout"),
            ] {
                let handle = try await harness.handle()
                #expect(try await harness.answerLatest(.failed(code)) == [204])
                let answer = try await harness.poll(handle)
                #expect(answer.status == 401)
                #expect(answer.error == code)
                #expect(answer.json["error_type"]?.string == type)
            }
        }
    }

    @Test("With the published API's status, the result is 302 with the same body")
    func found() async throws {
        try await withHarness(configure: { $0[BackchannelSettings.self].async302 = true }) { harness in
            let handle = try await harness.handle()
            _ = try await harness.answerLatest(.approved)
            let done = try await harness.poll(handle)
            #expect(done.status == 302)
            #expect(done.response["location"] == nil)
            #expect(done.token != nil)
        }
    }

    @Test("A pending request survives a restart: another instance on the same database continues it")
    func restarted() async throws {
        var configuration = Configuration()
        try await withHarness(configure: { configuration = $0 }) { harness in
            let handle = try await harness.handle()
            #expect(try await harness.answerLatest(.approved) == [204])
            let second = try LatchkeyService(configuration: configuration, features: .standard)
            let port = try second.start()[0].port
            let app = App(port: port)
            let other = BackchannelHarness(base: harness.base, app: app)
            #expect(try await other.poll(handle).token != nil)
            await second.shutdown(within: .seconds(2))
        }
    }

    @Test("A second poll within a second is 429, for each sign-in separately")
    func pace() async throws {
        // The second does not pass by itself.
        try await BackchannelHarness.with(uptime: ManualUptime().uptime) { harness in
            let handle = try await harness.handle()
            let answers = [try await harness.poll(handle), try await harness.poll(handle)]
            #expect(answers.map(\.status) == [200, 429])
            #expect(answers[0].response.text == #"{"auth_req_id":"\#(handle)"}"#)
            #expect(answers[1].response["retry-after"] == "1")
        }
    }

    /// A carrier's fault, the status of the start, and the status of a poll after the user's approval.
    struct Row: Sendable, CustomTestStringConvertible {
        let fault: Fault
        var start = 200
        var notified: [Int] = [204]
        /// 200 with a token, or 200 without one while the sign-in is pending.
        var poll = 200
        var isSignedIn = false
        var testDescription: String { fault.name }
    }

    private static func down(_ fault: Fault, _ status: Int) -> Row { Row(fault: fault, start: status) }
    private static func refused(_ fault: Fault) -> Row { Row(fault: fault, notified: [400], poll: 401) }
    private static func waits(_ fault: Fault, _ status: Int) -> Row { Row(fault: fault, notified: [status]) }

    static let rows: [Row] = [
        down(.backchannel500, 502), down(.backchannelNotJSON, 502), down(.backchannelRedirect, 502),
        down(.backchannelSlow, 504), down(.backchannelMissingID, 502),
        down(.backchannelUserUnsupported, 401), down(.discoveryNoBackchannel, 502), down(.discovery500, 502),
        Row(fault: .notificationTwice, notified: [204, 204], isSignedIn: true),
        waits(.notificationWrongToken, 401), waits(.notificationOtherID, 400), waits(.notificationOtherState, 400),
        waits(.notificationMissingIDToken, 400), waits(.keys500, 503), waits(.userInfo500, 503),
        refused(.idTokenOtherRequestID), refused(.idTokenWrongNonce), refused(.idTokenBadSignature),
        refused(.idTokenAlgNone), refused(.idTokenOtherAudience), refused(.idTokenNeighbourIssuer),
        refused(.idTokenExpired), refused(.idTokenStrangerKey), refused(.idTokenWrongAccessTokenHash),
        refused(.userInfoWrongSubject),
        Row(fault: .idTokenRotatedKey, isSignedIn: true), Row(fault: .idTokenMissingNonce, isSignedIn: true),
    ]

    @Test(
        "A carrier's fault is reported to the client and creates no session", arguments: rows)
    func fault(row: Row) async throws {
        let key = P256.Signing.PrivateKey()
        try await withHarness(
            key: key,
            configure: { if row.start == 504 { $0.outbound.limits.tokenTimeout = OutboundLimits.shortTimeout } }
        ) {
            harness in
            harness.simulator.setFaults([row.fault], for: SignInHarness.mccmnc)
            let started = try await harness.start()
            #expect(started.status == row.start)
            if let handle = started.json["auth_req_id"]?.string {
                #expect(try await harness.answerLatest(.approved) == row.notified)
                let answer = try await harness.poll(handle)
                #expect(answer.status == row.poll)
                #expect((answer.token != nil) == row.isSignedIn)
            }
            #expect(harness.simulator.log.count(.canary) == 0)

            // Another carrier is not affected.
            let other = try await harness.handle("310260")
            #expect(try await harness.answerLatest(.approved, "310260") == [204])
            #expect(try await harness.poll(other).token != nil)
        }
    }

    @Test("A notification before the authentication response is not lost")
    func beforeAnswer() async throws {
        try await withHarness { harness in
            harness.simulator.setFaults([.notificationBeforeResponse], for: SignInHarness.mccmnc)
            let handle = try await harness.handle()
            #expect(try await harness.poll(handle).token != nil)
        }
    }

    @Test("A request object that the carrier cannot verify is a configuration error")
    func otherKey() async throws {
        try await withHarness(registered: P256.Signing.PrivateKey()) { harness in
            let answer = try await harness.start()
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_request_object")
            #expect(harness.simulator.backchannelAuthenticationRequests(at: SignInHarness.mccmnc).isEmpty)
        }
    }

    @Test("A cancelled sign-in stays cancelled after an approval; a retried one uses its latest request")
    func cancelledAndRetried() async throws {
        try await withHarness { harness in
            let cancelled = try await harness.handle()
            #expect(try await harness.send("DELETE", cancelled).status == 200)
            #expect(try await harness.answerLatest(.approved) == [204])
            #expect(try await harness.poll(cancelled).status == 400)

            let retried = try await harness.handle()
            let first = try #require(harness.latest())
            #expect(try await harness.send("POST", retried).json["auth_req_id"]?.string == retried)
            #expect(try await harness.simulator.complete(first, .approved) == [401])
            #expect(try await harness.answerLatest(.approved) == [204])
            #expect(try await harness.poll(retried).token != nil)
        }
    }
}

/// The calls of backchannel authentication on a harness.
struct BackchannelHarness {
    static let path = "/auth/zenkey-async-signin"

    let base: SignInHarness
    let app: App
    var path = Self.path

    init(base: SignInHarness, app: App? = nil) {
        self.base = base
        self.app = app ?? base.app
    }

    /// A harness whose client has a key.
    static func with(
        key: P256.Signing.PrivateKey = P256.Signing.PrivateKey(), registered: P256.Signing.PrivateKey? = nil,
        uptime: Uptime = .system, configure: (inout Configuration) -> Void = { _ in },
        _ body: (BackchannelHarness) async throws -> Void
    ) async throws {
        let signingKey = try ClientKey(parsing: Secret(key.pemRepresentation))
        try await SignInHarness.with(uptime: uptime) { configuration in
            configuration.zenkey.clients[0].signingKey = signingKey
            configure(&configuration)
        } register: { client in
            client.publicKeyPEM = (registered ?? key).publicKey.pemRepresentation
        } _: { harness in
            try await body(BackchannelHarness(base: harness))
        }
    }

    var simulator: CarrierSimulator { base.simulator }

    func start(_ mccmnc: String = SignInHarness.mccmnc) async throws -> App.Answer {
        try await app.send(
            "POST", path, headers: ["Content-Type: application/json"],
            body: App.json([
                "login_hint": "+12025550123", "client_id": SignInHarness.clientID, "scope": "openid email",
                "mccmnc": mccmnc,
                "redirect_uri": SignInHarness.redirectURI, "context": "Sign in to Example", "acr_values": "a3",
            ]))
    }

    func handle(_ mccmnc: String = SignInHarness.mccmnc) async throws -> String {
        try #require(try await start(mccmnc).json["auth_req_id"]?.string)
    }

    func send(_ method: String, _ handle: String) async throws -> App.Answer {
        try await app.send(method, path + "/" + handle)
    }

    func poll(_ handle: String) async throws -> App.Answer { try await send("GET", handle) }

    /// The carrier's id of its latest request.
    func latest(_ mccmnc: String = SignInHarness.mccmnc) -> String? {
        simulator.backchannelAuthenticationRequests(at: mccmnc).last
    }

    func answerLatest(
        _ decision: CarrierSimulator.Decision, _ mccmnc: String = SignInHarness.mccmnc
    ) async throws -> [Int] {
        try await simulator.complete(try #require(latest(mccmnc)), decision)
    }
}
