import CarrierSimulator
import Crypto
import HTTPServer
import LatchkeyAPI
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Server-initiated sign-in over real sockets: the simulated carriers check the request object's signature, and call the
/// notification endpoint themselves.
@Suite(.serialized) struct BackchannelAuthenticationOverSocketsTests {
    typealias Fault = CarrierSimulator.Fault

    private func withStage(
        key: P256.Signing.PrivateKey = P256.Signing.PrivateKey(), registered: P256.Signing.PrivateKey? = nil,
        configure: (inout Configuration) -> Void = { _ in }, _ body: (BackchannelHarness) async throws -> Void
    ) async throws {
        try await BackchannelHarness.with(key: key, registered: registered, configure: configure, body)
    }

    @Test(
        "A user is asked on the phone, approves, and is signed in",
        arguments: ["310010", "310410", "310260", "311870"])
    func wholeLife(mccmnc: String) async throws {
        try await withStage { stage in
            let started = try await stage.start(mccmnc)
            #expect(started.status == 200)
            #expect(started.json["expires_in"]?.integer == 300)
            let handle = try #require(started.json["auth_req_id"]?.string)
            let id = try #require(stage.simulator.backchannelAuthenticationRequests(at: mccmnc).first)
            #expect(handle != id)
            #expect(try await stage.simulator.answer(id, .approved) == [204])
            let done = try await stage.poll(handle)
            #expect(done.status == 200)
            let token = try #require(done.token)
            let me = try await stage.app.me(token)
            #expect(me.json["email"]?.string == "jane.doe@example.com")

            // The same user as by a code.
            let byCode = try #require(
                try await stage.app.signIn(try stage.stage.authorizedResponse(mccmnc: mccmnc)).token)
            #expect(try await stage.app.me(byCode).json["user_id"]?.integer == me.json["user_id"]?.integer)
        }
    }

    @Test("A user who says no, or does not answer, is told apart")
    func refused() async throws {
        try await withStage { stage in
            for (code, type) in [
                ("access_denied", "requestDenied"), ("authentication_timed_out", "requestTimeout"),
            ] {
                let handle = try await stage.handle()
                #expect(try await stage.answerLatest(.failed(code)) == [204])
                let answer = try await stage.poll(handle)
                #expect(answer.status == 401)
                #expect(answer.error == code)
                #expect(answer.json["error_type"]?.string == type)
            }
        }
    }

    @Test("Where the published API's status is wanted, the outcome is 302 with the same body")
    func found() async throws {
        try await withStage(configure: { $0.compatibility.async302 = true }) { stage in
            let handle = try await stage.handle()
            _ = try await stage.answerLatest(.approved)
            let done = try await stage.poll(handle)
            #expect(done.status == 302)
            #expect(done.response["location"] == nil)
            #expect(done.token != nil)
        }
    }

    @Test("What is waited for outlives the server: another on the same database goes on with it")
    func restarted() async throws {
        var copy = Configuration()
        try await withStage(configure: { copy = $0 }) { stage in
            let handle = try await stage.handle()
            #expect(try await stage.answerLatest(.approved) == [204])
            let second = try LatchkeyService(configuration: copy)
            let port = try second.start()[0].port
            let app = App(port: port)
            let other = BackchannelHarness(stage: stage.stage, app: app)
            #expect(try await other.poll(handle).token != nil)
            await second.shutdown(within: .seconds(2))
        }
    }

    @Test("A second poll within a second is 429; each sign-in counts for itself")
    func pace() async throws {
        try await withStage { stage in
            let handle = try await stage.handle()
            let answers = [try await stage.poll(handle), try await stage.poll(handle)]
            #expect(answers.map(\.status) == [200, 429])
            #expect(answers[0].response.text == #"{"auth_req_id":"\#(handle)"}"#)
            #expect(answers[1].response["retry-after"] == "1")
        }
    }

    /// A carrier's fault, what the start is answered with, and what a poll after the user's approval brings.
    struct Row: Sendable, CustomTestStringConvertible {
        let fault: Fault
        var start = 200
        var notified: [Int] = [204]
        /// 200 with a token, or 200 without one where the sign-in waits on.
        var poll = 200
        var isSignedIn = false
        var testDescription: String { fault.rawValue }
    }

    private static func down(_ fault: Fault, _ status: Int) -> Row { Row(fault: fault, start: status) }
    private static func refused(_ fault: Fault) -> Row { Row(fault: fault, notified: [400], poll: 401) }
    private static func waits(_ fault: Fault, _ status: Int) -> Row { Row(fault: fault, notified: [status]) }

    static let rows: [Row] = [
        down(.serverInitiated500, 502), down(.backchannelNotJSON, 502), down(.backchannelRedirect, 502),
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
        "Whatever a carrier does wrong, the client is told so, and nobody is signed in who should not", arguments: rows)
    func fault(row: Row) async throws {
        let key = P256.Signing.PrivateKey()
        try await withStage(
            key: key, configure: { if row.start == 504 { $0.outbound.limits.tokenTimeout = .seconds(1) } }
        ) {
            stage in
            stage.simulator.setFaults([row.fault], for: Stage.mccmnc)
            let started = try await stage.start()
            #expect(started.status == row.start)
            if let handle = started.json["auth_req_id"]?.string {
                #expect(try await stage.answerLatest(.approved) == row.notified)
                let answer = try await stage.poll(handle)
                #expect(answer.status == row.poll)
                #expect((answer.token != nil) == row.isSignedIn)
            }
            #expect(stage.simulator.log.canaryHits() == 0)

            // Another carrier was never touched.
            let other = try await stage.handle("310260")
            #expect(try await stage.answerLatest(.approved, "310260") == [204])
            #expect(try await stage.poll(other).token != nil)
        }
    }

    @Test("A notification that comes before the answer to the request is not lost")
    func beforeAnswer() async throws {
        try await withStage { stage in
            stage.simulator.setFaults([.notificationBeforeResponse], for: Stage.mccmnc)
            let handle = try await stage.handle()
            #expect(try await stage.poll(handle).token != nil)
        }
    }

    @Test("A request object that the carrier cannot verify is the operator's matter")
    func otherKey() async throws {
        try await withStage(registered: P256.Signing.PrivateKey()) { stage in
            let answer = try await stage.start()
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_request_object")
            #expect(stage.simulator.backchannelAuthenticationRequests(at: Stage.mccmnc).isEmpty)
        }
    }

    @Test("A cancelled sign-in stays cancelled when the user approves it; a retried one counts by its latest request")
    func cancelledAndRetried() async throws {
        try await withStage { stage in
            let cancelled = try await stage.handle()
            #expect(try await stage.send("DELETE", cancelled).status == 200)
            #expect(try await stage.answerLatest(.approved) == [204])
            #expect(try await stage.poll(cancelled).status == 400)

            let retried = try await stage.handle()
            let first = try #require(stage.latest())
            #expect(try await stage.send("POST", retried).json["auth_req_id"]?.string == retried)
            #expect(try await stage.simulator.answer(first, .approved) == [401])
            #expect(try await stage.answerLatest(.approved) == [204])
            #expect(try await stage.poll(retried).token != nil)
        }
    }
}

/// The calls of server-initiated sign-in on a stage.
struct BackchannelHarness {
    static let path = "/auth/zenkey-async-signin"

    let stage: Stage
    let app: App

    init(stage: Stage, app: App? = nil) {
        self.stage = stage
        self.app = app ?? stage.app
    }

    /// A stage whose client has a key.
    static func with(
        key: P256.Signing.PrivateKey = P256.Signing.PrivateKey(), registered: P256.Signing.PrivateKey? = nil,
        configure: (inout Configuration) -> Void = { _ in }, _ body: (BackchannelHarness) async throws -> Void
    ) async throws {
        let signingKey = try ClientKey(parsing: Secret(key.pemRepresentation))
        try await Stage.with { configuration in
            configuration.zenkey.clients[0].signingKey = signingKey
            configure(&configuration)
        } register: { client in
            client.publicKeyPEM = (registered ?? key).publicKey.pemRepresentation
        } _: { stage in
            try await body(BackchannelHarness(stage: stage))
        }
    }

    var simulator: CarrierSimulator { stage.simulator }

    func start(_ mccmnc: String = Stage.mccmnc) async throws -> App.Answer {
        try await app.send(
            "POST", Self.path, headers: ["Content-Type: application/json"],
            body: App.json([
                "login_hint": "+12025550123", "client_id": Stage.clientID, "scope": "openid email", "mccmnc": mccmnc,
                "redirect_uri": Stage.redirectURI, "context": "Sign in to Example", "acr_values": "a3",
            ]))
    }

    func handle(_ mccmnc: String = Stage.mccmnc) async throws -> String {
        try #require(try await start(mccmnc).json["auth_req_id"]?.string)
    }

    func send(_ method: String, _ handle: String) async throws -> App.Answer {
        try await app.send(method, Self.path + "/" + handle)
    }

    func poll(_ handle: String) async throws -> App.Answer { try await send("GET", handle) }

    /// What the carrier calls the request that it got last.
    func latest(_ mccmnc: String = Stage.mccmnc) -> String? {
        simulator.backchannelAuthenticationRequests(at: mccmnc).last
    }

    func answerLatest(
        _ decision: CarrierSimulator.Decision, _ mccmnc: String = Stage.mccmnc
    ) async throws -> [Int] {
        try await simulator.answer(try #require(latest(mccmnc)), decision)
    }
}
