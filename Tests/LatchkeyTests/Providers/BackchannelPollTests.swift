import CarrierSimulator
import Crypto
import LatchkeyConfiguration
import LatchkeyService
import OpenIDConnect
import Primitives
import SignIn
import TestSupport
import Testing

/// Backchannel authentication at an OpenID provider in the mode poll, over sockets: the simulated provider checks each
/// request and each pace by itself.
@Suite("Backchannel authentication at a provider, in the mode poll, over sockets")
struct BackchannelPollTests {
    typealias Fault = CarrierSimulator.Fault

    @Test("A new user approves and is signed in; a known one is the same user, also by redirects and codes")
    func users() async throws {
        try await BackchannelWalk.with { walk in
            var ids: [Int64?] = []
            for isNew in [true, false] {
                let handle = try await walk.handle(["login_hint": BackchannelWalk.jane, "scope": "openid email"])
                let waiting = try await walk.poll(handle, after: 6)
                #expect(waiting.status == 200 && waiting.token == nil)
                #expect(try await walk.decide().isEmpty)
                let done = try await walk.poll(handle, after: 6)
                #expect(done.json["new_user"]?.bool == isNew, "\(done.response)")
                let me = try await walk.app.me(try #require(done.token))
                #expect(me.json["email"]?.string == BackchannelWalk.jane)
                ids.append(me.json["user_id"]?.integer)
            }
            let code = try ProviderWalk(harness: walk.harness).code(at: BackchannelWalk.provider, user: "jane")
            let byCode = try await walk.app.post("/auth/acme/sign-in", code)
            ids.append(try await walk.app.me(try #require(byCode.token)).json["user_id"]?.integer)
            #expect(ids[0] != nil && ids.allSatisfy { $0 == ids[0] })
            #expect(walk.refusals == ["authorization_pending", "authorization_pending"])
        }
    }

    @Test("The provider is never polled before its interval, however often the client polls", arguments: [5, 31])
    func interval(seconds: Int64) async throws {
        try await BackchannelWalk.with { walk in
            if seconds == 31 { walk.setFaults(.cibaLongInterval) }
            let handle = try await walk.handle()
            for second in 1...(2 * seconds + 2) {
                #expect(try await walk.poll(handle, after: 1).status == 200)
                // The second in which a poll ends does not count.
                #expect(Int64(walk.polls) == second / (seconds + 1))
            }
            #expect(walk.refusals == ["authorization_pending", "authorization_pending"])
        }
    }

    @Test("After slow_down the interval is five seconds longer, and the provider has nothing more to complain of")
    func slowDown() async throws {
        try await BackchannelWalk.with { walk in
            walk.setFaults(.cibaSlowDown)
            let handle = try await walk.handle()
            for _ in 1...40 { #expect(try await walk.poll(handle, after: 1).status == 200) }
            #expect(walk.refusals == ["slow_down"] + Array(repeating: "authorization_pending", count: 3))
            _ = try await walk.decide()
            #expect(try await walk.poll(handle, after: 11).token != nil)
        }
    }

    /// What the user decides or the provider does, and the client's error.
    struct Refusal: Sendable, CustomTestStringConvertible {
        let what: String
        var fault: Fault?
        var decision = CarrierSimulator.Decision.approved
        let status: Int
        let error: String
        var testDescription: String { what }

        init(_ code: String, _ status: Int, _ error: String) {
            (what, decision, self.status, self.error) = (code, .failed(code), status, error)
        }

        init(_ fault: Fault, _ status: Int, _ error: String) {
            (what, self.fault, self.status, self.error) = (fault.name, fault, status, error)
        }
    }

    static let refusals = [
        Refusal("access_denied", 401, "access_denied"), Refusal("transaction_failed", 401, "transaction_failed"),
        Refusal("expired_token", 400, "expired_token"), Refusal("invalid_grant", 401, "invalid_grant"),
        Refusal("unauthorized_client", 502, "carrier_error"), Refusal(.cibaExpired, 400, "expired_token"),
        Refusal(.cibaDenied, 401, "access_denied"), Refusal(.tokenInvalidClient, 502, "carrier_error"),
        Refusal(.tokenMissingIDToken, 502, "carrier_error"), Refusal(.tokenWrongType, 502, "carrier_error"),
        Refusal(.tokenNotJSON, 502, "carrier_error"), Refusal(.tokenMissingAccessToken, 502, "carrier_error"),
        Refusal(.idTokenOtherRequestID, 401, "invalid_id_token"),
        Refusal(.idTokenOtherIssuer, 401, "invalid_id_token"), Refusal(.idTokenMissingIssuer, 401, "invalid_id_token"),
        Refusal(.idTokenOtherAudience, 401, "invalid_id_token"),
        Refusal(.idTokenExtraAudience, 401, "invalid_id_token"), Refusal(.idTokenExpired, 401, "invalid_id_token"),
        Refusal(.idTokenBadSignature, 401, "invalid_id_token"), Refusal(.idTokenAlgNone, 401, "invalid_id_token"),
        Refusal(.idTokenStrangerKey, 401, "invalid_id_token"),
        Refusal(.idTokenWrongAccessTokenHash, 401, "invalid_id_token"),
        Refusal(.userInfoWrongSubject, 401, "invalid_id_token"),
    ]

    @Test("A refusal ends the sign-in, and its tokens are not asked for again", arguments: refusals)
    func refused(row: Refusal) async throws {
        try await BackchannelWalk.with { walk in
            let handle = try await walk.handle(["login_hint": BackchannelWalk.jane, "scope": "openid email"])
            if let fault = row.fault { walk.setFaults(fault) }
            _ = try await walk.decide(row.decision)
            for _ in 0..<2 {
                let answer = try await walk.poll(handle, after: 6)
                #expect(answer.status == row.status, "\(answer.response)")
                #expect(answer.error == row.error)
            }
            #expect(walk.polls == 1)
            walk.setFaults()
            #expect(try await walk.poll(handle, after: 6).token == nil)
            #expect(walk.polls == 1)
            #expect(walk.simulator.log.count(.canary) == 0)
        }
    }

    @Test(
        "Encrypted responses sign the user in, and end the sign-in if they are for another key",
        arguments: [true, false])
    func encrypted(isForClient: Bool) async throws {
        let (pair, other) = (ResponseKeyPair.p256(), ResponseKeyPair.p256())
        let decryption = ResponseDecryption(key: try pair.key("enc-1"), encryption: .a128GCM)
        let encryption = CarrierSimulator.Client.ResponseEncryption(
            .ecdhES, .a128GCM, publicKeyPEM: (isForClient ? pair : other).publicPEM, keyID: "enc-1")
        try await BackchannelWalk.with(
            configure: {
                $0.providers[0].clients[0].idTokenDecryption = decryption
                $0.providers[0].clients[0].userInfoDecryption = decryption
            },
            register: {
                $0.idTokenEncryption = encryption
                $0.userInfoEncryption = encryption
            }
        ) { walk in
            let handle = try await walk.handle(["login_hint": BackchannelWalk.jane, "scope": "openid email"])
            _ = try await walk.decide()
            for _ in 0..<2 {
                let answer = try await walk.poll(handle, after: 6)
                #expect((answer.token != nil) == isForClient, "\(answer.response)")
                #expect(answer.error == (isForClient ? nil : "invalid_id_token"))
            }
            // The tokens are given once.
            #expect(walk.polls == 1)
            #expect(walk.simulator.log.count(.userInfo, BackchannelWalk.provider) == (isForClient ? 1 : 0))
        }
    }

    @Test(
        "Without a usable response the sign-in goes on",
        arguments: [Fault.token500, .token503, .tokenRedirect, .keys500, .cibaPending])
    func goesOn(fault: Fault) async throws {
        try await BackchannelWalk.with { walk in
            let handle = try await walk.handle()
            _ = try await walk.decide()
            walk.setFaults(fault)
            let answer = try await walk.poll(handle, after: 6)
            #expect(answer.token == nil)
            #expect(answer.status == (fault == .keys500 ? 503 : 200), "\(answer.response)")
            walk.setFaults()
            #expect(try await walk.poll(handle, after: 60).token != nil)
            #expect(walk.simulator.log.count(.canary) == 0)
        }
    }

    /// What the provider does with the request, and the client's error.
    static let starts: [(fault: Fault?, code: String?, status: Int, error: String)] = [
        (nil, "unknown_user_id", 401, "unknown_user_id"),
        (nil, "expired_login_hint_token", 401, "expired_login_hint_token"),
        (nil, "missing_user_code", 401, "missing_user_code"), (nil, "invalid_user_code", 401, "invalid_user_code"),
        (nil, "invalid_binding_message", 401, "invalid_binding_message"),
        (nil, "unauthorized_client", 502, "carrier_error"), (nil, "access_denied", 401, "access_denied"),
        (nil, "invalid_scope", 401, "invalid_scope"), (.ciba500, nil, 502, "carrier_error"),
        (.cibaNotJSON, nil, 502, "carrier_error"), (.cibaRedirect, nil, 502, "carrier_error"),
        (.cibaMissingID, nil, 502, "carrier_error"), (.cibaMissingExpiresIn, nil, 502, "carrier_error"),
        (.discoveryNoBackchannel, nil, 502, "carrier_error"), (.cibaSlow, nil, 504, "carrier_timeout"),
    ]

    @Test("A refused request starts nothing", arguments: starts.indices)
    func refusedStart(index: Int) async throws {
        let row = Self.starts[index]
        try await BackchannelWalk.with(
            configure: { if row.status == 504 { $0.outbound.limits.tokenTimeout = OutboundLimits.shortTimeout } }
        ) { walk in
            if let fault = row.fault { walk.setFaults(fault) }
            walk.simulator.update(BackchannelWalk.provider) { $0.backchannelRefusal = row.code }
            let answer = try await walk.start()
            #expect(answer.status == row.status, "\(answer.response)")
            #expect(answer.error == row.error)
            #expect(walk.polls == 0)
            #expect(walk.simulator.log.count(.canary) == 0)
        }
    }

    @Test("A request expires when the provider said, and is not polled after")
    func expires() async throws {
        try await BackchannelWalk.with { walk in
            let started = try await walk.start(["login_hint": BackchannelWalk.jane, "requested_expiry": "30"])
            #expect(started.json["expires_in"]?.integer == 30)
            let handle = try #require(started.json["auth_req_id"]?.string)
            #expect(try await walk.poll(handle, after: 29).status == 200)
            _ = try await walk.decide()
            let answer = try await walk.poll(handle, after: 1)
            #expect(answer.status == 400 && answer.error == "expired_token")
            #expect(walk.polls == 1)
        }
    }

    @Test("A cancelled request stays cancelled after the user's approval")
    func cancelled() async throws {
        try await BackchannelWalk.with { walk in
            let handle = try await walk.handle()
            #expect(try await walk.cancel(handle).status == 200)
            _ = try await walk.decide()
            #expect(try await walk.poll(handle, after: 6).status == 400)
            #expect(walk.polls == 0)
        }
    }

    @Test("A pending request survives a restart, and the provider's interval with it")
    func restarted() async throws {
        try await BackchannelWalk.with { walk in
            let handle = try await walk.handle()
            #expect(try await walk.poll(handle, after: 6).status == 200)
            await walk.harness.service.shutdown(within: .seconds(5))
            try await walk.harness.withInstance(clock: walk.clock.wallClock, uptime: walk.uptime.uptime) { app, _ in
                var later = walk
                later.app = app
                _ = try await later.decide()
                #expect(try await later.poll(handle, after: 5).token == nil)
                #expect(later.polls == 1)
                #expect(try await later.poll(handle, after: 1).token != nil)
            }
            #expect(walk.refusals == ["authorization_pending"])
        }
    }
}
