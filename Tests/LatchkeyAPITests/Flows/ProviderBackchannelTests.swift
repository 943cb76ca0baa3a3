import HTTPTypes
import LatchkeyAPI
import Logging
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import Backchannel
@testable import ProviderResources

/// Backchannel authentication at an OpenID provider (CIBA), with a scripted provider and manual clocks.
@Suite("A backchannel authentication at a provider")
struct ProviderBackchannelTests {
    // MARK: Start

    @Test("asks the provider, waits, and signs in the user that the tokens name")
    func wholeLife() async throws {
        let calls = try ProviderBackchannelCalls()
        let started = try await calls.start([
            "binding_message": "\"W4SCT\"", "acr_values": "\"a3\"", "requested_expiry": "90",
            "correlation_id": "\"corr-1\"",
        ])
        #expect(started.status == 200)
        #expect(started.integer("expires_in") == 120)
        #expect(started.integer("interval") == 5)
        #expect(started.headers[.cacheControl] == "no-store")
        let handle = try #require(started.text("auth_req_id"))
        #expect(Base64URL.decode(handle)?.count == 32)
        #expect(
            try calls.asked() == [
                "scope": "openid", "login_hint": "jane@example.com", "binding_message": "W4SCT", "acr_values": "a3",
                "requested_expiry": "90",
            ])
        let waiting = try await calls.poll(handle, after: 6)
        #expect(waiting.body == #"{"auth_req_id":"\#(handle)"}"#)
        calls.answer(with: nil)
        let done = try await calls.poll(handle, after: 6)
        #expect(done.status == 200)
        #expect(done.text("auth_req_id") == handle)
        #expect(done.text("correlation_id") == "corr-1")
        #expect(try await calls.app.me(try #require(done.text("token"))).status == 200)
        #expect(calls.polls == 2)
        #expect(try await calls.record(handle).polling?.sealedRequest == nil)
        let again = try await calls.poll(handle)
        #expect(again.text("token") != nil)
        #expect(calls.polls == 2)
    }

    @Test(
        "is no way to sign in by redirects, unless a browser can come back",
        arguments: [[], ["https://app.example/cb"]])
    func listed(_ redirectURIs: [String]) async throws {
        let calls = try ProviderBackchannelCalls(client: { $0.redirectURIs = redirectURIs })
        let answer = try await calls.app.send(.get, "/auth/providers", apiKey: nil)
        let providers = try #require(answer.json?["providers"]?.array)
        #expect(providers.contains { $0.object?["id"]?.string == TestApp.provider } == !redirectURIs.isEmpty)
    }

    @Test(
        "needs exactly one hint, and valid parameters",
        arguments: [
            (["login_hint": "\"a\"", "login_hint_token": "\"b\""], "login_hint"), (["x_hint": "\"a\""], "login_hint"),
            (["login_hint": "\" a\""], "login_hint"), (["login_hint": "\"a\\u0007\""], "login_hint"),
            (["login_hint": "\"\""], "login_hint"), (["id_token_hint": "\"x.y\""], "id_token_hint"),
            (["login_hint_token": "\"a b\""], "login_hint_token"),
            (["binding_message": "\"a\\nb\""], "binding_message"),
            (["binding_message": "\"a\\u202eb\""], "binding_message"), (["requested_expiry": "0"], "requested_expiry"),
            (["requested_expiry": "3601"], "requested_expiry"), (["user_code": "\"a b\""], "user_code"),
            (["scope": "\"email\""], "scope"), (["client_id": "\"client-2\""], "client_id"),
        ])
    func refusedParameters(_ body: [String: String], _ field: String) async throws {
        let calls = try ProviderBackchannelCalls()
        let answer = try await calls.start(body)
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_request")
        #expect(answer.description.contains(field))
        #expect(calls.app.carrier.http.requests(to: FakeCarrier.providerBackchannelURL).isEmpty)
    }

    @Test("sends the hint of its kind, and no empty user code", arguments: ["login_hint_token", "id_token_hint"])
    func hints(_ name: String) async throws {
        let calls = try ProviderBackchannelCalls()
        let value = name == "id_token_hint" ? calls.app.carrier.idToken() : "TOKEN"
        #expect(try await calls.start([name: "\"\(value)\"", "user_code": "\"\""]).status == 200)
        #expect(try calls.asked() == ["scope": "openid", name: value])
    }

    @Test("is not offered by a provider without the setting, and by none without the endpoint or the mode")
    func notOffered() async throws {
        let off = try ProviderBackchannelCalls(.off)
        #expect(try await off.start().status == 404)
        let calls = try ProviderBackchannelCalls()
        #expect(try await calls.app.post("/auth/nobody/backchannel", #"{"login_hint":"a"}"#).status == 404)
        let publicClient = try ProviderBackchannelCalls(client: { $0.authentication = .publicClient })
        #expect(try await publicClient.start().text("error_type") == "configurationError")
        for made in [off, publicClient] {
            #expect(made.app.carrier.http.requests(to: FakeCarrier.providerBackchannelURL).isEmpty)
        }
    }

    @Test("of a provider with a FAPI profile has a binding message, and is signed")
    func profile() async throws {
        let calls = try ProviderBackchannelCalls(
            rules: { $0.requiresBindingMessage = true }, party: { $0.signedBackchannelRequests = .always })
        #expect(try await calls.start().description.contains("binding_message"))
        // The client has no key, so nothing is sent.
        let unsigned = try await calls.start(["binding_message": "\"W4SCT\""])
        #expect(unsigned.status == 502)
        #expect(calls.app.carrier.http.requests(to: FakeCarrier.providerBackchannelURL).isEmpty)
    }

    @Test(
        "ends with the provider's refusal of the request",
        arguments: [
            ("expired_login_hint_token", 401, "expired_login_hint_token", "discoveryStateError"),
            ("unknown_user_id", 401, "unknown_user_id", "discoveryStateError"),
            ("unauthorized_client", 502, "carrier_error", "configurationError"),
            ("invalid_client", 502, "carrier_error", "configurationError"),
            ("missing_user_code", 401, "missing_user_code", "invalidRequest"),
            ("invalid_user_code", 401, "invalid_user_code", "requestDenied"),
            ("invalid_binding_message", 401, "invalid_binding_message", "invalidRequest"),
            ("access_denied", 401, "access_denied", "requestDenied"),
        ])
    func refusedRequest(_ code: String, _ status: Int, _ error: String, _ type: String) async throws {
        let calls = try ProviderBackchannelCalls()
        calls.app.carrier.script {
            $0.providerBackchannel = { _ throws(OutboundError) in .json(#"{"error":"\#(code)"}"#, status: 400) }
        }
        let answer = try await calls.start()
        #expect(answer.status == status)
        #expect(answer.error == error)
        #expect(answer.text("error_type") == type)
    }

    @Test("prompts one user as often as allowed, in whatever spelling")
    func prompts() async throws {
        let calls = try ProviderBackchannelCalls(backchannel: { $0.pendingPerUser = 1 })
        #expect(try await calls.start(["login_hint": "\"tel:+1-202-555-0123\""]).status == 200)
        for spelling in ["+12025550123", "tel:+12025550123", "+1 (202) 555-0123"] {
            #expect(try await calls.start(["login_hint": "\"\(spelling)\""]).status == 429, "\(spelling)")
        }
        #expect(try await calls.start(["login_hint": "\"Jane@Example.com\""]).status == 200)
        #expect(try await calls.start(["login_hint": "\"jane@example.com\""]).status == 429)
        #expect(try await calls.start(["id_token_hint": "\"\(calls.app.carrier.idToken())\""]).status == 200)
        calls.app.clock.advance(bySeconds: 1)
        #expect(try await calls.start(["id_token_hint": "\"\(calls.app.carrier.idToken())\""]).status == 429)
    }

    @Test("counts the prompts of one caller in all spellings together, until their users sign in")
    func promptsOfCaller() async throws {
        var limits = RequestLimits()
        limits.quotas[.promptsPerUser] = .init(count: 10, seconds: 3600)
        limits.quotas[.promptsPerCaller] = .init(count: 3, seconds: 3600)
        let calls = try ProviderBackchannelCalls(limits: limits)
        let handle = try await calls.handle()
        for spelling in ["jane@mail.example.com", "j.ane@example.com"] {
            #expect(try await calls.start(["login_hint": "\"\(spelling)\""]).status == 200, "\(spelling)")
        }
        let another = ["login_hint": "\"jane+1@example.com\""]
        let refused = try await calls.start(another)
        #expect(refused.status == 429 && refused.error == "rate_limited")
        #expect(refused.headers[.retryAfter] == "1200")
        #expect(calls.app.carrier.http.requests(to: FakeCarrier.providerBackchannelURL).count == 3)
        // Another caller is not concerned.
        #expect(try await calls.start(another, apiKey: TestApp.otherAPIKey).status == 200)

        calls.answer(with: nil)
        #expect(try await calls.poll(handle, after: 6).text("token") != nil)
        // The same outcome again gives nothing back.
        #expect(try await calls.poll(handle).text("token") != nil)
        #expect(try await calls.start(another).status == 200)
        #expect(try await calls.start(["login_hint": "\"jane+2@example.com\""]).status == 429)
    }

    // MARK: Polls

    @Test("is polled never faster than the interval, however often the client polls")
    func interval() async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        for second in 1...30 {
            #expect(try await calls.poll(handle, after: 1).status == 200)
            // The second in which a poll ends does not count.
            #expect(calls.polls == second / 6, "\(second)")
        }
    }

    @Test("is polled five seconds less often after each slow_down")
    func slowDown() async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        calls.answer(with: ProviderBackchannelCalls.slowDown)
        _ = try await calls.poll(handle, after: 6)
        #expect(try await calls.record(handle).polling?.interval == 10)
        _ = try await calls.poll(handle, after: 10)
        #expect(calls.polls == 1)
        _ = try await calls.poll(handle, after: 1)
        #expect(calls.polls == 2)
        #expect(try await calls.record(handle).polling?.interval == 15)
        _ = try await calls.poll(handle, after: 15)
        #expect(calls.polls == 2)
    }

    @Test("is polled once at a time, by all instances together")
    func oneAtATime() async throws {
        let calls = try ProviderBackchannelCalls()
        let others = try (0..<4).map { _ in try ProviderBackchannelCalls(beside: calls.app) }
        let handle = try await calls.handle()
        calls.app.clock.advance(bySeconds: 6)
        let gate = Gate()
        calls.app.carrier.script {
            $0.token = { _ in
                await gate.pass()
                return ProviderBackchannelCalls.pending
            }
        }
        async let first = calls.poll(handle)
        defer { gate.open() }
        await gate.untilWaiting(1)
        calls.answer(with: ProviderBackchannelCalls.pending)
        for other in others {
            let answer = try await other.poll(handle, after: 1)
            #expect(answer.status == 200)
            #expect(answer.text("token") == nil)
        }
        #expect(calls.polls == 1)
        gate.open()
        #expect(try await first.status == 200)
        // Another instance continues where the first one stopped.
        calls.answer(with: nil)
        #expect(try await others[0].poll(handle, after: 6).text("token") != nil)
        #expect(calls.polls == 2)
    }

    @Test("is polled once, although two instances find it due at the same moment")
    func dueTwice() async throws {
        let calls = try ProviderBackchannelCalls()
        let other = try ProviderBackchannelCalls(beside: calls.app)
        let handle = try await calls.handle()
        calls.app.clock.advance(bySeconds: 6)
        // Both have seen that it is due when they wait for the provider's keys.
        let gate = Gate()
        let keys = calls.app.carrier.keySet()
        calls.app.carrier.script {
            $0.keys = { _ in
                await gate.pass()
                return keys
            }
        }
        async let first = calls.poll(handle)
        async let second = other.poll(handle)
        await gate.untilWaiting(2)
        gate.open()
        #expect(try await first.status == 200)
        #expect(try await second.status == 200)
        #expect(calls.polls == 1)
    }

    @Test("is polled by one instance still when another one's poll ends too late")
    func lateEnd() async throws {
        let calls = try ProviderBackchannelCalls()
        let other = try ProviderBackchannelCalls(beside: calls.app)
        let third = try ProviderBackchannelCalls(beside: calls.app)
        let handle = try await calls.handle()
        func answer(with response: OutboundResponse, after gate: Gate) {
            calls.app.carrier.script {
                $0.token = { _ in
                    await gate.pass()
                    return response
                }
            }
        }
        let (gate, otherGate) = (Gate(), Gate())
        answer(with: ProviderBackchannelCalls.pending, after: gate)
        calls.app.clock.advance(bySeconds: 6)
        async let late = calls.poll(handle)
        defer { gate.open() }
        await gate.untilWaiting(1)
        // The claim of the first poll is over, and another instance polls.
        let end = try #require(try await calls.record(handle).polling?.busyUntil)
        calls.app.clock.advance(bySeconds: end.secondsSinceEpoch - calls.app.clock.now.secondsSinceEpoch)
        answer(with: calls.app.carrier.tokens(), after: otherGate)
        async let done = other.poll(handle)
        defer { otherGate.open() }
        await otherGate.untilWaiting(1)
        gate.open()
        #expect(try await late.status == 200)
        calls.answer(with: ProviderBackchannelCalls.pending)
        #expect(try await third.poll(handle, after: 6).text("token") == nil)
        #expect(calls.polls == 2)
        otherGate.open()
        #expect(try await done.text("token") != nil)
    }

    @Test("signs in the user of its record, although the provider gives tokens twice and names another one")
    func twoUsers() async throws {
        let calls = try ProviderBackchannelCalls()
        let other = try ProviderBackchannelCalls(beside: calls.app)
        let handle = try await calls.handle()
        calls.app.clock.advance(bySeconds: 6)
        calls.app.carrier.script { $0.claims = ["sub": "\"user-b\""] }
        let tokens = calls.app.carrier.tokens()
        let gate = Gate()
        calls.app.carrier.script {
            $0.claims = [:]
            $0.token = { _ in
                await gate.pass()
                return tokens
            }
        }
        async let late = calls.poll(handle)
        defer { gate.open() }
        await gate.untilWaiting(1)
        // The claim of the first poll is over, and another instance polls.
        let end = try #require(try await calls.record(handle).polling?.busyUntil)
        calls.app.clock.advance(bySeconds: end.secondsSinceEpoch - calls.app.clock.now.secondsSinceEpoch)
        calls.answer(with: calls.app.carrier.tokens())
        let done = try await other.poll(handle)
        gate.open()
        let users = [
            try await calls.app.me(try #require(done.text("token"))),
            try await calls.app.me(try #require(try await late.text("token"))),
        ]
        #expect(users[0].integer("user_id") != nil && users[0].integer("user_id") == users[1].integer("user_id"))
    }

    @Test("is polled by another instance after one ended in the middle of a poll")
    func takenOver() async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        var record = try await calls.record(handle)
        record.polling?.busyUntil = calls.app.clock.now.advanced(bySeconds: 30)
        #expect(try await calls.app.testStore.store.replaceBackchannelAuthentication(record))
        calls.answer(with: nil)
        #expect(try await calls.poll(handle, after: 29).text("token") == nil)
        #expect(calls.polls == 0)
        #expect(try await calls.poll(handle, after: 1).text("token") != nil)
    }

    @Test("goes on after a poll without a usable response, less often")
    func failures() async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        calls.answer(with: .json("{}", status: 500))
        #expect(try await calls.poll(handle, after: 6).status == 200)
        #expect(try await calls.record(handle).polling?.interval == 10)
        #expect(calls.app.log.lines.contains { $0.level == .warning && $0.metadata["step"] == "poll" })
        calls.app.carrier.script {
            $0.token = { _ throws(OutboundError) in
                throw OutboundError(.timedOut, mayHaveBeenSent: true, reason: "late")
            }
        }
        #expect(try await calls.poll(handle, after: 11).status == 200)
        calls.answer(with: nil)
        #expect(try await calls.poll(handle, after: 21).text("token") != nil)
        #expect(calls.polls == 3)
    }

    @Test(
        "ends with the provider's refusal of a poll, and stays ended",
        arguments: [
            ("access_denied", 401, "access_denied"), ("expired_token", 400, "expired_token"),
            ("transaction_failed", 401, "transaction_failed"), ("invalid_grant", 401, "invalid_grant"),
            ("unauthorized_client", 502, "carrier_error"), ("odd_code", 401, "odd_code"),
        ])
    func refusedPoll(_ code: String, _ status: Int, _ error: String) async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        calls.answer(with: .json(#"{"error":"\#(code)"}"#, status: 400))
        for _ in 0..<2 {
            let answer = try await calls.poll(handle, after: 6)
            #expect(answer.status == status)
            #expect(answer.error == error)
        }
        calls.answer(with: nil)
        #expect(try await calls.poll(handle, after: 6).status == status)
        #expect(calls.polls == 1)
    }

    @Test("ends with tokens that cannot be used, because they are given once")
    func unusableTokens() async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        calls.answer(with: .json(#"{"access_token":"a","token_type":"Bearer"}"#))
        for _ in 0..<2 { #expect(try await calls.poll(handle, after: 6).error == "carrier_error") }
        #expect(calls.polls == 1)
    }

    @Test(
        "accepts the ID token of this client, provider, request and authentication only",
        arguments: [
            (["aud": "\"client-2\""], "audience"), (["iss": "\"https://other.example\""], "issuer"),
            (["acr": "\"a1\""], "acr"), (["acr": nil], "acr"), (["exp": "1"], "expiry"),
            (["urn:openid:params:jwt:claim:auth_req_id": "\"another\""], "auth_req_id"),
            (["at_hash": "\"AAAAAAAAAAAAAAAAAAAAAA\""], "at_hash"), (["sub": nil], "subject"),
        ] as [([String: String?], String)])
    func invalidIDToken(_ claims: [String: String?], _ check: String) async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try #require(try await calls.start(["acr_values": "\"a3\""]).text("auth_req_id"))
        calls.app.carrier.script { $0.claims = claims }
        calls.answer(with: nil)
        for _ in 0..<2 {
            let answer = try await calls.poll(handle, after: 6)
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_id_token")
        }
        #expect(calls.polls == 1)
        calls.app.carrier.script { $0.claims = [:] }
        #expect(try await calls.poll(handle, after: 6).error == "invalid_id_token", "\(check)")
    }

    @Test(
        "asks for the levels that are fixed, and its ID token must meet them and the fixed age",
        arguments: [
            ("a3", 0, "a3", true), ("a3", -60, "a1 a3", true), ("a3", nil, "a3", false), ("a3", -600, "a3", false),
            ("a1", 0, "a3", false), ("a1", 0, nil, false),
        ] as [(String, Int64?, String?, Bool)])
    func fixedDemand(_ acr: String, _ age: Int64?, _ asked: String?, _ isAccepted: Bool) async throws {
        let calls = try ProviderBackchannelCalls(
            rules: { $0.parameters.fixed = ["acr_values": "a3", "max_age": "60"] })
        let started = try await calls.start(asked.map { ["acr_values": "\"\($0)\""] } ?? [:])
        let handle = try #require(started.text("auth_req_id"))
        #expect(try calls.asked()["acr_values"] == "a3")
        let time = age.map { "\(calls.app.clock.now.secondsSinceEpoch + 6 + $0)" }
        calls.app.carrier.script { $0.claims = ["acr": "\"\(acr)\"", "auth_time": time] }
        calls.answer(with: nil)
        let answer = try await calls.poll(handle, after: 6)
        #expect(answer.error == (isAccepted ? nil : "invalid_id_token"), "\(answer.body)")
    }

    @Test("accepts an ID token with the request's id, and one with a nonce, which CIBA does not have")
    func validIDToken() async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        calls.app.carrier.script {
            $0.claims = ["urn:openid:params:jwt:claim:auth_req_id": "\"PROVIDER-request\"", "nonce": "\"n\""]
        }
        calls.answer(with: nil)
        #expect(try await calls.poll(handle, after: 6).text("token") != nil)
    }

    @Test("spends no tokens while the provider's keys cannot be fetched")
    func noKeys() async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        calls.answer(with: nil)
        calls.app.carrier.script { $0.keys = { _ throws(OutboundError) in .json("{}", status: 500) } }
        let answer = try await calls.poll(handle, after: 6)
        #expect(answer.status == 503)
        #expect(answer.error == "temporarily_unavailable")
        #expect(calls.polls == 0)
        calls.app.carrier.script { $0.keys = nil }
        #expect(try await calls.poll(handle, after: 60).text("token") != nil)
    }

    @Test("expires when the provider said, and is not polled after")
    func expires() async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        calls.answer(with: nil)
        #expect(try await calls.poll(handle, after: 120).error == "expired_token")
        #expect(calls.polls == 0)
    }

    @Test("that is cancelled is not polled, and a poll under way signs nobody in")
    func cancelled() async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        #expect(try await calls.cancel(handle).status == 200)
        #expect(try await calls.poll(handle, after: 6).status == 400)
        #expect(calls.polls == 0)
        let second = try await calls.handle()
        calls.app.clock.advance(bySeconds: 6)
        let gate = Gate()
        let tokens = calls.app.carrier.tokens()
        calls.app.carrier.script {
            $0.token = { _ in
                await gate.pass()
                return tokens
            }
        }
        async let answer = calls.poll(second)
        defer { gate.open() }
        await gate.untilWaiting(1)
        #expect(try await calls.cancel(second).status == 200)
        gate.open()
        #expect(try await answer.error == "invalid_request")
        #expect(try await calls.poll(second).text("token") == nil)
    }

    @Test("that is cancelled while the provider's keys are fetched is not polled")
    func cancelledBeforePoll() async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        let gate = Gate()
        let keys = calls.app.carrier.keySet()
        calls.app.carrier.script {
            $0.keys = { _ in
                await gate.pass()
                return keys
            }
        }
        async let answer = calls.poll(handle, after: 6)
        defer { gate.open() }
        await gate.untilWaiting(1)
        #expect(try await calls.cancel(handle).status == 200)
        gate.open()
        #expect(try await answer.text("token") == nil)
        #expect(calls.polls == 0)
    }

    @Test("cannot be retried under its handle: its request is not stored")
    func retry() async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        #expect(try await calls.app.send(.post, ProviderBackchannelCalls.path + "/" + handle).status == 400)
        #expect(try await calls.record(handle).terms.carrier == nil)
    }

    @Test("belongs to its caller and its provider")
    func others() async throws {
        let calls = try ProviderBackchannelCalls()
        let handle = try await calls.handle()
        calls.answer(with: nil)
        #expect(try await calls.poll(handle, after: 6, apiKey: TestApp.otherAPIKey).status == 404)
        #expect(try await calls.cancel(handle, apiKey: TestApp.otherAPIKey).status == 404)
        for path in ["/auth/zenkey/backchannel/", "/auth/zenkey-async-signin/", "/auth/nobody/backchannel/"] {
            #expect(try await calls.app.send(.get, path + handle).status == 404)
            #expect(try await calls.app.send(.delete, path + handle).status == 404)
        }
        #expect(calls.polls == 0)
        #expect(try await calls.poll(handle).text("token") != nil)
    }

    @Test("keeps the provider's id of the request from the database and the logs")
    func secrecy() async throws {
        let calls = try ProviderBackchannelCalls(.ping)
        let handle = try await calls.handle()
        _ = try await calls.poll(handle, after: 31)
        #expect(calls.polls == 1)
        for secret in ["PROVIDER-request", "jane@example.com", handle, try calls.notificationToken()] {
            #expect(try !calls.app.testStore.files(contain: secret), "\(secret)")
            #expect(!calls.app.log.lines.contains { "\($0)".contains(secret) }, "\(secret)")
        }
    }

    @Test("offers registration to a user who is unknown, and goes on after it")
    func registration() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let calls = try ProviderBackchannelCalls(registration: rules)
        let handle = try await calls.handle()
        calls.answer(with: nil)
        let offered = try await calls.poll(handle, after: 6)
        #expect(offered.status == 403)
        #expect(offered.error == "user_not_registered")
        #expect(offered.text("state_key") != nil)
    }

    @Test("stores the provider's tokens where the setting says so, bound to their key")
    func storedTokens() async throws {
        let key = try #require(EncryptionKey([UInt8](repeating: 7, count: 32)))
        let calls = try ProviderBackchannelCalls(
            vaultKeys: [key], rules: { $0.storesTokens = true },
            party: { $0.extensions.dpop = .always })
        let handle = try await calls.handle()
        let idToken = calls.app.carrier.idToken()
        calls.answer(
            with: .json(
                #"{"access_token":"ACCESS","token_type":"DPoP","refresh_token":"r","id_token":"\#(idToken)"}"#))
        let done = try await calls.poll(handle, after: 6)
        let token = try #require(done.text("token"))
        let user = try #require(
            try await calls.app.store.session(TokenHash(ofSessionToken: token), at: calls.app.clock.now)?.user)
        let stored = try await calls.app.testStore.store.providerTokens(
            of: user.id, provider: TestApp.provider, clientID: "client-1")
        #expect(stored != nil)
        let poll = try #require(calls.app.carrier.http.requests(to: FakeCarrier.tokenURL).last)
        #expect(poll.headers.contains { $0.name == "DPoP" })
        #expect(try !calls.app.testStore.files(contain: "ACCESS"))
    }

    // MARK: Pings (section 10.2)

    @Test("has a notification token of 256 bits in the mode ping, and none in the mode poll")
    func notificationToken() async throws {
        let ping = try ProviderBackchannelCalls(.ping)
        _ = try await ping.handle()
        let first = try ping.notificationToken()
        _ = try await ping.handle()
        #expect(Base64URL.decode(first)?.count == 32)
        #expect(try ping.notificationToken() != first)
        let poll = try ProviderBackchannelCalls(.poll)
        _ = try await poll.handle()
        #expect(try poll.asked()["client_notification_token"] == nil)
    }

    @Test("is polled at once after a ping, and seldom without one")
    func ping() async throws {
        let calls = try ProviderBackchannelCalls(.ping)
        let handle = try await calls.handle()
        _ = try await calls.poll(handle, after: 30)
        #expect(calls.polls == 0)
        #expect(try await calls.ping().status == 204)
        calls.answer(with: nil)
        #expect(try await calls.poll(handle).text("token") != nil)
        #expect(calls.polls == 1)
    }

    @Test("signs in the user although its ping got lost")
    func lostPing() async throws {
        let calls = try ProviderBackchannelCalls(.ping)
        let handle = try await calls.handle()
        calls.answer(with: nil)
        #expect(try await calls.poll(handle, after: 31).text("token") != nil)
    }

    @Test("counts the first ping: a repeated one causes no poll")
    func repeatedPing() async throws {
        let calls = try ProviderBackchannelCalls(.ping)
        let handle = try await calls.handle()
        #expect(try await calls.ping().status == 204)
        _ = try await calls.poll(handle)
        #expect(calls.polls == 1)
        let before = try await calls.record(handle)
        for _ in 0..<3 {
            #expect(try await calls.ping().status == 204)
            _ = try await calls.poll(handle)
        }
        #expect(calls.polls == 1)
        #expect(try await calls.record(handle) == before)
        // From now on by the interval.
        _ = try await calls.poll(handle, after: 6)
        #expect(calls.polls == 2)
    }

    @Test("is polled at once after a ping that came during a poll")
    func pingDuringPoll() async throws {
        let calls = try ProviderBackchannelCalls(.ping)
        let handle = try await calls.handle()
        calls.app.clock.advance(bySeconds: 31)
        let gate = Gate()
        calls.app.carrier.script {
            $0.token = { _ in
                await gate.pass()
                return ProviderBackchannelCalls.pending
            }
        }
        async let first = calls.poll(handle)
        defer { gate.open() }
        await gate.untilWaiting(1)
        #expect(try await calls.ping().status == 204)
        gate.open()
        #expect(try await first.status == 200)
        calls.answer(with: nil)
        #expect(try await calls.poll(handle).text("token") != nil)
    }

    @Test("keeps a ping that comes before the response to its request")
    func earlyPing() async throws {
        let calls = try ProviderBackchannelCalls(.ping)
        calls.app.carrier.script { script in
            script.providerBackchannel = { [calls] _ throws(OutboundError) in
                _ = try? await calls.ping()
                return .json(#"{"auth_req_id":"PROVIDER-request","expires_in":120}"#)
            }
        }
        let handle = try await calls.handle()
        calls.answer(with: nil)
        #expect(try await calls.poll(handle).text("token") != nil)
    }

    @Test("fails if a ping before the response to its request is about another one")
    func contradictingPing() async throws {
        let calls = try ProviderBackchannelCalls(.ping)
        calls.app.carrier.script { script in
            script.providerBackchannel = { [calls] _ throws(OutboundError) in
                let ping = try? await calls.ping("another")
                #expect(ping?.status == 204)
                return .json(#"{"auth_req_id":"PROVIDER-request","expires_in":120}"#)
            }
        }
        let answer = try await calls.start()
        #expect(answer.status == 502)
        #expect(answer.error == "carrier_error")
        #expect(calls.polls == 0)
    }

    @Test("is not changed by a ping with another token, about another request, or without an id")
    func strangePings() async throws {
        let calls = try ProviderBackchannelCalls(.ping)
        let first = try await calls.handle()
        let firstToken = try calls.notificationToken()
        calls.app.carrier.script {
            $0.providerBackchannel = { _ throws(OutboundError) in .json(#"{"auth_req_id":"SECOND","expires_in":120}"#) }
        }
        let second = try await calls.handle()
        let before = [try await calls.record(first), try await calls.record(second)]
        #expect(try await calls.ping("SECOND", token: firstToken).status == 401)
        #expect(try await calls.ping("PROVIDER-request").status == 401)
        #expect(try await calls.ping("unknown").status == 401)
        #expect(try await calls.ping(nil).status == 400)
        for token in ["", "x", RandomSource.system.token(), first] {
            #expect(try await calls.ping(token: token).status == 401)
            #expect(try await calls.ping("SECOND", token: token).status == 401)
        }
        for path in ["/auth/zenkey-async-signin/notification", "/auth/zenkey/backchannel/notification"] {
            #expect(try await calls.ping("SECOND", path: path).status == 401)
        }
        #expect([try await calls.record(first), try await calls.record(second)] == before)
        _ = try await calls.poll(first)
        _ = try await calls.poll(second)
        #expect(calls.polls == 0)
    }

    @Test("is not changed by a ping about another request that is under way when the provider's response comes")
    func slowPing() async throws {
        let calls = try ProviderBackchannelCalls(.ping)
        let gate = Gate()
        calls.app.carrier.script {
            $0.providerBackchannel = { _ in
                await gate.pass()
                return .json(#"{"auth_req_id":"PROVIDER-request","expires_in":120}"#)
            }
        }
        async let started = calls.start()
        defer { gate.open() }
        await gate.untilWaiting(1)
        // The request's id is not known yet.
        let useCase = calls.app.backchannel.backchannelAuthentication(beside: calls.app.useCases)
        let notifier = try await useCase.authenticate(Secret(try calls.notificationToken()), at: TestApp.provider)
        gate.open()
        let handle = try #require(try await started.text("auth_req_id"))
        let before = try await calls.record(handle)
        try await useCase.receive(
            BackchannelNotification(requestID: Secret("another"), state: nil, outcome: .ready), from: notifier)
        #expect(try await calls.record(handle) == before)
    }

    @Test("takes nothing but the id from a ping: tokens and errors in it are ignored")
    func pushedTokens() async throws {
        let calls = try ProviderBackchannelCalls(.ping)
        let handle = try await calls.handle()
        let pushed = [
            (name: "id_token", json: "\"\(calls.app.carrier.idToken())\""), (name: "access_token", json: "\"a\""),
            (name: "error", json: "\"access_denied\""),
        ]
        #expect(try await calls.ping(more: pushed).status == 204)
        let answer = try await calls.poll(handle)
        #expect(answer.status == 200)
        #expect(answer.text("token") == nil)
        #expect(calls.polls == 1)
    }

    @Test("changes nothing by a ping after its end")
    func latePing() async throws {
        let calls = try ProviderBackchannelCalls(.ping)
        let handle = try await calls.handle()
        #expect(try await calls.cancel(handle).status == 200)
        let before = try await calls.record(handle)
        #expect(try await calls.ping().status == 204)
        #expect(try await calls.record(handle) == before)
    }

    // MARK: The carriers' path

    @Test("at a carrier has two paths for the same sign-in")
    func alias() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        let path = "/auth/zenkey/backchannel/" + handle
        #expect(try await calls.app.send(.get, path).status == 200)
        #expect(try await calls.app.send(.post, path).status == 200)
        #expect(try await calls.notify().status == 204)
        calls.app.uptime.advance(by: .seconds(1))
        #expect(try await calls.app.send(.get, path).text("token") != nil)
        let started = try await calls.app.post("/auth/zenkey/backchannel", TokenText.object(BackchannelCalls.body))
        #expect(started.status == 200)
        #expect(started.integer("interval") == nil)
    }
}
