import HTTPTypes
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import Backchannel

/// Backchannel authentication over the API, with a scripted carrier and manual clocks.
@Suite("A backchannel authentication")
struct BackchannelAuthenticationTests {
    @Test("sends a request object, waits, and signs in the user that the carrier names")
    func wholeLife() async throws {
        let calls = try BackchannelCalls()
        let started = try await calls.start()
        #expect(started.status == 200)
        #expect(started.integer("expires_in") == 300)
        #expect(started.headers[.cacheControl] == "no-store")
        let handle = try #require(started.text("auth_req_id"))
        #expect(Base64URL.decode(handle)?.count == 32)
        #expect(try calls.asked()["login_hint"]?.string == BackchannelCalls.hint)
        #expect(
            try calls.asked()["client_notification_endpoint"]?.string
                == "https://login.example/base/auth/zenkey-async-signin/notification")

        let waiting = try await calls.poll(handle)
        #expect(waiting.status == 200)
        #expect(waiting.body == #"{"auth_req_id":"\#(handle)"}"#)

        #expect(try await calls.notify().status == 204)
        let done = try await calls.poll(handle)
        #expect(done.status == 200)
        #expect(done.text("correlation_id") == "corr-1")
        #expect(done.json?["new_user"]?.bool == true)
        #expect(done.text("auth_req_id") == handle)
        #expect(try await calls.app.me(try #require(done.text("token"))).status == 200)
    }

    @Test("can be polled once a second, each sign-in on its own")
    func pace() async throws {
        let calls = try BackchannelCalls()
        let (first, second) = (try await calls.handle(), try await calls.handle())
        #expect(try await calls.poll(first).status == 200)
        let path = BackchannelCalls.path + "/" + first
        for _ in 0..<3 {
            let early = try await calls.app.send(.get, path)
            #expect(early.status == 429)
            #expect(early.error == "rate_limited")
            #expect(early.headers[.retryAfter] == "1")
        }
        #expect(try await calls.app.send(.get, BackchannelCalls.path + "/" + second).status == 200)
        calls.app.uptime.advance(by: .milliseconds(999))
        #expect(try await calls.app.send(.get, path).status == 429)
        calls.app.uptime.advance(by: .milliseconds(1))
        #expect(try await calls.app.send(.get, path).status == 200)
    }

    @Test("expires without a response, and is removed later")
    func expires() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        calls.app.clock.advance(bySeconds: 299)
        #expect(try await calls.poll(handle).status == 200)
        calls.app.clock.advance(bySeconds: 1)
        let expired = try await calls.poll(handle)
        #expect(expired.status == 400)
        #expect(expired.error == "expired_token")
        #expect(expired.text("error_type") == "requestTimeout")
        #expect(try await calls.notify().status == 204)
        #expect(try await calls.poll(handle).error == "expired_token")
        calls.app.clock.advance(bySeconds: 600)
        #expect(try await calls.poll(handle).status == 404)
        #expect(try await calls.notify().status == 401)
    }

    @Test("that is approved in the last second can still be polled")
    func lateCollection() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        calls.app.clock.advance(bySeconds: 299)
        #expect(try await calls.notify().status == 204)
        calls.app.clock.advance(bySeconds: 100)
        #expect(try await calls.poll(handle).text("token") != nil)
    }

    @Test("that is approved and never polled expires")
    func neverCollected() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        #expect(try await calls.notify().status == 204)
        calls.app.clock.advance(bySeconds: 300)
        #expect(try await calls.poll(handle).error == "expired_token")
    }

    @Test("can be polled again within a minute, for the same user")
    func answeredAgain() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        _ = try await calls.notify()
        let first = try await calls.poll(handle)
        let second = try await calls.poll(handle)
        #expect(first.text("token") != second.text("token"))
        #expect(second.json?["new_user"]?.bool == true)
        #expect(second.text("auth_req_id") == handle)
        let known = try await calls.handle()
        _ = try await calls.notify()
        for _ in 0..<2 { #expect(try await calls.poll(known).json?["new_user"]?.bool == false) }
        let ends = calls.app.log.lines.filter { $0.metadata["step"] == "end" }
        #expect(ends.count == 4)
        calls.app.clock.advance(bySeconds: 60)
        #expect(try await calls.poll(handle).status == 404)
    }

    @Test("does not bring back an erased user when polled again")
    func erased() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        _ = try await calls.notify()
        let token = try #require(try await calls.poll(handle).text("token"))
        #expect(try await calls.app.asUser(.delete, "/users/me", token).status == 200)
        #expect(try await calls.poll(handle).status == 404)
    }

    @Test("starts no other session after the first one ended")
    func signedOut() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        _ = try await calls.notify()
        let token = try #require(try await calls.poll(handle).text("token"))
        #expect(try await calls.app.asUser(.delete, "/auth/token", token).status == 200)
        let again = try await calls.poll(handle)
        #expect(again.status == 401)
        #expect(again.error == "invalid_grant")
        #expect(again.description.contains("signed out since"))
    }

    @Test("creates one user when many poll at once")
    func concurrentPolls() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        _ = try await calls.notify()
        let answers = try await withThrowingTaskGroup(of: Answer.self) { group in
            for _ in 0..<8 { group.addTask { try await calls.poll(handle) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let sessions = answers.filter { $0.text("token") != nil }
        #expect(!sessions.isEmpty)
        #expect(sessions.allSatisfy { $0.json?["new_user"]?.bool == true })
        var users: Set<Int64?> = []
        for session in sessions {
            users.insert(try await calls.app.me(try #require(session.text("token"))).integer("user_id"))
        }
        #expect(users.count == 1)
    }

    @Test("stays cancelled, whatever the carrier sends")
    func cancelled() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        let answer = try await calls.cancel(handle)
        #expect(answer.status == 200)
        #expect(answer.body == "{}")
        #expect(try await calls.notify().status == 204)
        let poll = try await calls.poll(handle)
        #expect(poll.status == 400)
        #expect(poll.error == "invalid_request")
        #expect(poll.description.contains("cancelled"))
        #expect(try await calls.cancel(handle).status == 200)
        #expect(try await calls.retry(handle).status == 400)
    }

    @Test("can be cancelled after the approval until the first poll, and not after")
    func cancelledLate() async throws {
        let calls = try BackchannelCalls()
        let first = try await calls.handle()
        _ = try await calls.notify()
        #expect(try await calls.cancel(first).status == 200)
        #expect(try await calls.poll(first).text("token") == nil)
        let second = try await calls.handle()
        _ = try await calls.notify()
        #expect(try await calls.poll(second).text("token") != nil)
        #expect(try await calls.cancel(second).status == 400)
    }

    @Test("is retried under the same handle, with new tokens; earlier notifications no longer count")
    func retried() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        let before = try calls.asked()
        let token = try calls.notificationToken()
        let answer = try await calls.retry(handle)
        #expect(answer.status == 200)
        #expect(answer.text("auth_req_id") == handle)
        #expect(answer.integer("expires_in") == 300)
        let after = try calls.asked()
        for name in ["client_notification_token", "state", "nonce", "jti"] {
            #expect(before[name] != nil && before[name] != after[name], "\(name)")
        }
        for name in ["login_hint", "scope", "redirect_uri", "correlation_id"] {
            #expect(before[name] != nil && before[name] == after[name], "\(name)")
        }
        #expect(try await calls.notify(token: token).status == 401)
        #expect(try await calls.poll(handle).text("token") == nil)
        #expect(try await calls.notify().status == 204)
        #expect(try await calls.poll(handle).text("token") != nil)
        #expect(try await calls.retry(handle).status == 400)
    }

    @Test("can be retried after it failed or expired, and three times in all")
    func retriedOften() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        _ = try await calls.notify(["error": "\"access_denied\"", "id_token": nil])
        #expect(try await calls.poll(handle).error == "access_denied")
        #expect(try await calls.retry(handle).status == 200)
        #expect(try await calls.poll(handle).status == 200)
        calls.app.clock.advance(bySeconds: 301)
        #expect(try await calls.retry(handle).status == 200)
        #expect(try await calls.retry(handle).status == 200)
        let asked = calls.app.carrier.http.requests(to: FakeCarrier.backchannelAuthenticationURL).count
        let refused = try await calls.retry(handle)
        #expect(refused.status == 400)
        #expect(refused.description.contains("too often"))
        #expect(calls.app.carrier.http.requests(to: FakeCarrier.backchannelAuthenticationURL).count == asked)
    }

    @Test("offers a registration if one is required, and the handle registers")
    func registration() async throws {
        var rules = TestRegistration()
        rules.isRequired = true
        let calls = try BackchannelCalls(registration: rules)
        let handle = try await calls.handle()
        _ = try await calls.notify()
        let offered = try await calls.poll(handle)
        #expect(offered.status == 403)
        #expect(offered.error == "user_not_registered")
        let key = try #require(offered.text("state_key"))
        #expect(try await calls.app.post("/users", #"{"state_key":"\#(key)","name":"Jane"}"#).status == 201)
        #expect(try await calls.poll(handle).text("token") != nil)
    }

    @Test("fetches the requested attributes")
    func attributes() async throws {
        let calls = try BackchannelCalls()
        let started = try await calls.start(["scope": "\"openid email\""])
        let handle = try #require(started.text("auth_req_id"))
        #expect(try await calls.notify(["access_token": nil]).status == 400)
        #expect(try await calls.notify().status == 204)
        let token = try #require(try await calls.poll(handle).text("token"))
        #expect(try await calls.app.me(token).text("email") == "jane@mail.example")
    }

    @Test("is limited per caller, user and carrier")
    func perUser() async throws {
        let calls = try BackchannelCalls()
        for _ in 0..<2 { #expect(try await calls.start().status == 200) }
        let refused = try await calls.start()
        #expect(refused.status == 429)
        #expect(refused.headers[.retryAfter] == "30")
        #expect(try await calls.start(apiKey: TestApp.otherAPIKey).status == 200)
        #expect(try await calls.start(apiKey: TestApp.otherAPIKey).status == 429)
        #expect(calls.app.carrier.http.requests(to: FakeCarrier.backchannelAuthenticationURL).count == 3)
        #expect(try await calls.start(["login_hint": "\"+13105550100\""]).status == 200)
    }

    @Test("still waits after an unverifiable notification, and accepts it when sent again")
    func cannotTell() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        calls.app.carrier.script { $0.keys = { _ throws(OutboundError) in .json("{}", status: 500) } }
        let answer = try await calls.notify()
        #expect(answer.status == 503)
        #expect(answer.headers[.retryAfter] == "5")
        #expect(try await calls.poll(handle).body == #"{"auth_req_id":"\#(handle)"}"#)
        calls.app.carrier.script { $0.keys = nil }
        calls.app.clock.advance(bySeconds: 30)
        #expect(try await calls.notify().status == 204)
        #expect(try await calls.poll(handle).text("token") != nil)
    }

    @Test("is 503, and not ended, while the store is unavailable")
    func storeDown() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        let token = try calls.notificationToken()
        calls.app.storeScript.fail(with: StorageError(.unavailable, reason: "x"))
        for answer in [
            try await calls.start(), try await calls.poll(handle), try await calls.retry(handle),
            try await calls.cancel(handle), try await calls.notify(token: token),
        ] { #expect(answer.status == 503) }
        calls.app.storeScript.fail(with: nil)
        #expect(try await calls.notify(token: token).status == 204)
        #expect(try await calls.poll(handle).text("token") != nil)
    }

    @Test(
        "is refused for an invalid request, naming what is wrong",
        arguments: [
            ("login_hint", nil, "login_hint"), ("client_id", nil, "client_id"), ("scope", nil, "scope"),
            ("mccmnc", nil, "mccmnc"), ("redirect_uri", nil, "redirect_uri"), ("scope", "\"email\"", "openid"),
            ("client_id", "\"nobody\"", "client_id"), ("redirect_uri", "\"https://evil.example\"", "redirect_uri"),
            ("prompt", "\"none login\"", "prompt"), ("prompt", "\"always\"", "prompt"),
            ("login_hint", "\"two words\"", "login_hint"), ("mccmnc", "\"3104\"", "mccmnc"),
        ] as [(String, String?, String)])
    func malformed(name: String, json: String?, says: String) async throws {
        let calls = try BackchannelCalls()
        let answer = try await calls.start([name: json])
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_request")
        #expect(answer.description.contains(says), "\(answer.description)")
        #expect(calls.app.carrier.http.requests(to: FakeCarrier.backchannelAuthenticationURL).isEmpty)
    }

    @Test("names its correlation id in the response and the log when it was denied, cancelled or expired")
    func refusalIsTold() async throws {
        let calls = try BackchannelCalls()
        let (expired, cancelled) = (try await calls.handle(), try await calls.handle())
        _ = try await calls.cancel(cancelled)
        calls.app.clock.advance(bySeconds: 1)
        let latest = try await calls.start(["login_hint": "\"+13105550100\""])
        let refused = try #require(latest.text("auth_req_id"))
        _ = try await calls.notify(["error": "\"access_denied\"", "id_token": nil])
        calls.app.clock.advance(bySeconds: 299)
        for (handle, code) in [
            (refused, "access_denied"), (cancelled, "invalid_request"), (expired, "expired_token"),
        ] {
            let before = calls.app.log.lines.count
            let answer = try await calls.poll(handle)
            #expect(answer.error == code)
            #expect(answer.text("correlation_id") == "corr-1")
            let lines = calls.app.log.lines.dropFirst(before).filter {
                $0.message == "backchannel authentication refused" && $0.metadata["outcome"] == code
            }
            #expect(lines.count == 1, "\(code)")
            #expect(lines.first?.metadata["correlation_id"] == "corr-1")
        }
    }

    @Test("explains how to encode a phone number whose + became a space in a form")
    func plusInForm() async throws {
        let calls = try BackchannelCalls()
        let rest = "client_id=client-1&scope=openid&mccmnc=310410&redirect_uri=https://app.example/cb&login_hint="
        let refused = try await calls.app.form(BackchannelCalls.path, rest + "+12025550123")
        #expect(refused.status == 400)
        #expect(refused.description.contains("login_hint"))
        #expect(refused.description.contains("%2B"))
        #expect(try await calls.app.form(BackchannelCalls.path, rest + "%2B12025550123").status == 200)
        #expect(try calls.asked()["login_hint"]?.string == "+12025550123")
        #expect(try await !calls.start(["login_hint": "\"two words\""]).description.contains("%2B"))
    }

    /// Events of a sign-in whose user has a port token.
    enum Event: CaseIterable {
        case poll
        case cancellation
        case retry
    }

    @Test("keeps the former identities until the account has moved, and no longer", arguments: Event.allCases)
    func formerIdentities(event: Event) async throws {
        let calls = try BackchannelCalls()
        let earlier = try await calls.handle()
        _ = try await calls.notify()
        let user = try await calls.app.me(try #require(try await calls.poll(earlier).text("token"))).integer("user_id")

        let handle = try await calls.handle()
        let portToken = calls.app.carrier.portToken(of: "SUBJECT-of-jane")
        calls.app.carrier.script {
            $0.subject = "SUBJECT-of-jane-now"
            $0.claims["aka"] = "[\"junk\",\"\(portToken)\"]"
        }
        #expect(try await calls.notify().status == 204)
        let ignored = calls.app.log.lines.filter { $0.message == "port token ignored" }
        #expect(ignored.map { $0.metadata["correlation_id"] } == ["corr-1"])
        #expect(ignored.first?.metadata["reason"] == "format")
        #expect(try await calls.formerIdentities(handle).map(\.subject) == ["SUBJECT-of-jane"])

        switch event {
        case .poll:
            let done = try await calls.poll(handle)
            #expect(done.json?["new_user"]?.bool == false)
            #expect(try await calls.app.me(try #require(done.text("token"))).integer("user_id") == user)
            #expect(calls.app.log.lines.last { $0.metadata["step"] == "end" }?.metadata["moved"] == "true")
        case .cancellation: #expect(try await calls.cancel(handle).status == 200)
        case .retry:
            calls.app.clock.advance(bySeconds: 300)
            #expect(try await calls.retry(handle).status == 200)
        }
        #expect(try await calls.formerIdentities(handle).isEmpty)
        #expect(!calls.app.log.text.contains("SUBJECT"))
    }

    @Test("needs a client with a key")
    func noKey() async throws {
        let calls = try BackchannelCalls()
        let app = try TestApp()
        let answer = try await app.post(BackchannelCalls.path, TokenText.object(BackchannelCalls.body))
        #expect(answer.status == 400)
        #expect(answer.text("error_type") == "configurationError")
        #expect(answer.description.contains("private_key"))
        #expect(try await calls.start().status == 200)
    }
}

/// Carriers' errors, and the client's.
@Suite("Errors of backchannel authentication")
struct BackchannelAuthenticationErrorTests {
    static let rows: [(String, Int, String, String)] = [
        ("access_denied", 401, "access_denied", "requestDenied"),
        ("request_denied", 401, "request_denied", "requestDenied"),
        ("device_unavailable", 401, "device_unavailable", "requestDenied"),
        ("authentication_timed_out", 401, "authentication_timed_out", "requestTimeout"),
        ("user_not_found", 401, "user_not_found", "discoveryStateError"),
        ("user_unsupported", 401, "user_unsupported", "discoveryStateError"),
        ("invalid_login_hint", 401, "invalid_login_hint", "discoveryStateError"),
        ("invalid_scope", 401, "invalid_scope", "invalidRequest"),
        ("invalid_request_object", 401, "invalid_request_object", "invalidRequest"),
        ("invalid_request", 401, "invalid_request", "configurationError"),
        ("network_failure", 401, "network_failure", "networkFailure"),
        ("invalid_client", 502, "carrier_error", "configurationError"),
        ("unauthorized_client", 502, "carrier_error", "configurationError"),
        ("server_error", 502, "carrier_error", "serverError"),
        ("temporarily_unavailable", 502, "carrier_error", "serverError"),
        ("something_else", 401, "something_else", "unknownError"),
        ("invalid_api_key", 401, "invalid_grant", "unknownError"),
    ]

    @Test("The carrier's error code reaches the client if the request is refused", arguments: rows)
    func atOnce(code: String, status: Int, error: String, type: String) async throws {
        let calls = try BackchannelCalls()
        calls.app.carrier.script {
            $0.backchannelAuthentication = { _ throws(OutboundError) in
                .json(#"{"error":"\#(code)","error_description":"HINT"}"#, status: 400)
            }
        }
        let answer = try await calls.start()
        #expect(answer.status == status)
        #expect(answer.error == error)
        #expect(answer.text("error_type") == type)
        #expect(answer.description.hasSuffix("."))
        #expect(!answer.body.contains("HINT"))
    }

    @Test("The carrier's error code reaches the client if it comes with a notification", arguments: rows)
    func byNotification(code: String, status: Int, error: String, type: String) async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        #expect(try await calls.notify(["error": "\"\(code)\"", "id_token": nil]).status == 204)
        for _ in 0..<2 {
            let answer = try await calls.poll(handle)
            #expect(answer.status == status)
            #expect(answer.error == error)
            #expect(answer.text("error_type") == type)
        }
    }

    @Test(
        "An unusable response of the carrier is carrier_error, and leaves no record",
        arguments: [
            (#"{"expires_in":300}"#, 200), ("[]", 200), ("<p>", 200), (#"{"auth_req_id":7}"#, 200),
            (#"{"auth_req_id":"x y"}"#, 200), (#"{"auth_req_id":"x","expires_in":"soon"}"#, 200),
            (#"{"auth_req_id":"x","expires_in":0}"#, 200), (#"{"auth_req_id":"x"}"#, 500), ("{}", 302),
        ])
    func unusable(text: String, status: Int) async throws {
        let calls = try BackchannelCalls()
        calls.app.carrier.script {
            $0.backchannelAuthentication = { _ throws(OutboundError) in .json(text, status: status) }
        }
        let answer = try await calls.start()
        #expect(answer.status == 502)
        #expect(answer.error == "carrier_error")
        #expect(try await calls.notify().status == 401)
    }

    @Test("A carrier that does not respond is carrier_timeout, and the sign-in can be retried")
    func timeout() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        calls.app.carrier.script {
            $0.backchannelAuthentication = { _ throws(OutboundError) in
                throw OutboundError(.timedOut, mayHaveBeenSent: true, reason: "x")
            }
        }
        #expect(try await calls.start(["login_hint": "\"+13105550100\""]).status == 504)
        #expect(try await calls.retry(handle).status == 504)
        let poll = try await calls.poll(handle)
        #expect(poll.status == 502)
        #expect(poll.text("error_type") == "serverError")
        calls.app.carrier.script { $0.backchannelAuthentication = nil }
        #expect(try await calls.retry(handle).status == 200)
        #expect(try await calls.notify().status == 204)
        #expect(try await calls.poll(handle).text("token") != nil)
    }

    @Test("A carrier without the endpoint has its own error")
    func noEndpoint() async throws {
        let calls = try BackchannelCalls()
        calls.app.carrier.script {
            $0.discovery = { _ throws(OutboundError) in .json(FakeCarrier.metadataWithoutBackchannel) }
        }
        let answer = try await calls.start()
        #expect(answer.status == 502)
        #expect(answer.description.contains("does not offer"))
    }
}

/// Attacks by third parties.
@Suite("Attacks on backchannel authentication")
struct BackchannelAuthenticationAttackTests {
    @Test("Without an API key nothing can be started, polled or cancelled")
    func noAPIKey() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        for answer in [
            try await calls.start(apiKey: nil), try await calls.poll(handle, apiKey: nil),
            try await calls.retry(handle, apiKey: nil), try await calls.cancel(handle, apiKey: nil),
            try await calls.poll(handle, apiKey: "wrong"),
        ] {
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_api_key")
        }
    }

    @Test("Another API key's sign-in is unknown, and stays as it is")
    func otherKey() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        for answer in [
            try await calls.poll(handle, apiKey: TestApp.otherAPIKey),
            try await calls.retry(handle, apiKey: TestApp.otherAPIKey),
            try await calls.cancel(handle, apiKey: TestApp.otherAPIKey),
        ] {
            #expect(answer.status == 404)
            #expect(answer.error == "not_found")
        }
        _ = try await calls.notify()
        #expect(try await calls.poll(handle, apiKey: TestApp.otherAPIKey).status == 404)
        #expect(try await calls.poll(handle).text("token") != nil)
    }

    @Test(
        "A guessed handle is unknown",
        arguments: [
            "x", "CARRIER-request", String(repeating: "A", count: 43), String(repeating: "A", count: 4000),
            "' OR 1=1 --".replacing(" ", with: "%20"),
        ])
    func guessed(handle: String) async throws {
        let calls = try BackchannelCalls()
        _ = try await calls.handle()
        #expect(try await calls.poll(handle).status == 404)
        #expect(try await calls.cancel(handle).status == 404)
        #expect(try await calls.retry(handle).status == 404)
    }

    @Test("A forged notification is refused before its body is read, and changes nothing")
    func forged() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        let token = try calls.notificationToken()
        let flipped = String(token.dropLast()) + (token.hasSuffix("A") ? "Q" : "A")
        for wrong in [
            flipped, handle, "CARRIER-request", TestApp.apiKey, String(repeating: "A", count: 43),
            token.lowercased(), token + "A", String(token.dropLast()),
        ] {
            let answer = try await calls.notify(token: wrong)
            #expect(answer.status == 401)
            #expect(answer.error == "invalid_token")
            #expect(answer.headers[.wwwAuthenticate]?.hasPrefix("Bearer") == true)
        }
        let bare = try await calls.app.send(
            .post, BackchannelAuthentication.notificationPath, [.contentType: "application/json"], body: "{",
            apiKey: nil)
        #expect(bare.status == 401)
        #expect(try await calls.poll(handle).body == #"{"auth_req_id":"\#(handle)"}"#)
        #expect(try await calls.notify().status == 204)
    }

    @Test(
        "A notification about another request, or one that is malformed, changes nothing",
        arguments: [
            ["auth_req_id": "\"another\""], ["state": "\"another\""], ["auth_req_id": nil], ["id_token": nil],
            ["id_token": "7"], ["state": "[]"],
        ] as [[String: String?]])
    func ofAnother(changes: [String: String?]) async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        let answer = try await calls.notify(changes)
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_request")
        #expect(try await calls.poll(handle).body == #"{"auth_req_id":"\#(handle)"}"#)
        #expect(try await calls.notify().status == 204)
    }

    @Test("One sign-in's notification token does not end another")
    func tokenOfAnother() async throws {
        let calls = try BackchannelCalls()
        calls.app.carrier.script {
            $0.backchannelAuthentication = { _ throws(OutboundError) in
                .json(#"{"auth_req_id":"first","expires_in":300}"#)
            }
        }
        _ = try await calls.handle()
        let token = try calls.notificationToken()
        calls.app.carrier.script { $0.backchannelAuthentication = nil }
        let second = try await calls.handle()
        #expect(try await calls.notify(token: token).status == 400)
        #expect(try await calls.poll(second).body == #"{"auth_req_id":"\#(second)"}"#)
    }

    @Test("A second notification changes nothing, whatever it says")
    func replayed() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        #expect(try await calls.notify().status == 204)
        calls.app.carrier.script { $0.subject = "SUBJECT-of-mallory" }
        #expect(try await calls.notify().status == 204)
        #expect(try await calls.notify(["error": "\"access_denied\"", "id_token": nil]).status == 204)
        let token = try #require(try await calls.poll(handle).text("token"))
        #expect(try await calls.notify().status == 204)
        #expect(try await calls.app.me(token).status == 200)

        calls.app.carrier.script {
            $0.subject = "SUBJECT-of-jane"
            $0.nonce = "NONCE-of-the-app"
        }
        let again = try await calls.app.token()
        #expect(try await calls.app.me(again).integer("user_id") == calls.app.me(token).integer("user_id"))
    }

    @Test(
        "An invalid ID token ends the sign-in, and a valid one afterwards is too late",
        arguments: [
            ("nonce", "\"another\"", "nonce"), ("aud", "\"client-2\"", "audience"), ("iss", "\"https://x\"", "issuer"),
            ("exp", "1", "expiry"), ("iat", "1", "issued_at"), ("sub", "\"\"", "subject"),
            ("urn:openid:params:jwt:claim:auth_req_id", "\"another\"", "auth_req_id"),
            ("urn:openid:params:jwt:claim:auth_req_id", "7", "auth_req_id"),
            ("at_hash", "\"AAAAAAAAAAAAAAAAAAAAAA\"", "at_hash"),
        ])
    func badIDToken(claim: String, json: String, check: String) async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        calls.app.carrier.script { $0.claims[claim] = json }
        let answer = try await calls.notify()
        #expect(answer.status == 400)
        #expect(answer.error == "invalid_id_token")
        calls.app.carrier.script { $0.claims = [:] }
        #expect(try await calls.notify().status == 204)
        let poll = try await calls.poll(handle)
        #expect(poll.status == 401)
        #expect(poll.error == "invalid_id_token")
        #expect(poll.description.contains("(\(check))"), "\(poll.description)")
    }

    @Test("A nonce in the ID token must be the request's")
    func nonce() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        let nonce = try #require(try calls.asked()["nonce"]?.string)
        calls.app.carrier.script {
            $0.nonce = nonce
            $0.claims["urn:openid:params:jwt:claim:auth_req_id"] = "\"CARRIER-request\""
        }
        #expect(try await calls.notify().status == 204)
        #expect(try await calls.poll(handle).text("token") != nil)
    }

    @Test(
        "The ID token must have the requested acr and context",
        arguments: [("a1", "Pay $1000", "context"), ("a3", "Pay $10", "acr")])
    func demanded(acr: String, context: String, check: String) async throws {
        let calls = try BackchannelCalls()
        let started = try await calls.start(["acr_values": "\"a1\"", "context": "\"Pay $10\""])
        let handle = try #require(started.text("auth_req_id"))
        #expect(try calls.asked()["context"]?.string == "Pay $10")
        calls.app.carrier.script {
            $0.claims["acr"] = "\"\(acr)\""
            $0.claims["context"] = "\"\(context)\""
        }
        #expect(try await calls.notify().status == 400)
        #expect(try await calls.poll(handle).description.contains("(\(check))"))
    }

    @Test("A response and a notification with different request ids fail the sign-in")
    func contradiction() async throws {
        let calls = try BackchannelCalls()
        calls.app.carrier.script {
            $0.backchannelAuthentication = { _ throws(OutboundError) in
                // The notification comes first, with another id.
                do {
                    _ = try await calls.notify(["auth_req_id": "\"another\""])
                } catch {
                    throw OutboundError(.unreachable, mayHaveBeenSent: true, reason: "the test failed")
                }
                return .json(#"{"auth_req_id":"CARRIER-request","expires_in":300}"#)
            }
        }
        let answer = try await calls.start()
        #expect(answer.status == 502)
        #expect(answer.error == "carrier_error")
    }

    @Test("No log line has a handle, a token, a hint or a subject, and a poll's path has no handle")
    func privacy() async throws {
        let calls = try BackchannelCalls()
        let handle = try await calls.handle()
        let token = try calls.notificationToken()
        _ = try await calls.poll(handle)
        _ = try await calls.notify()
        let session = try #require(try await calls.poll(handle).text("token"))
        _ = try await calls.retry(handle)
        _ = try await calls.cancel(handle)
        calls.app.storeScript.fail(with: StorageError(.unavailable, reason: "x"))
        _ = try await calls.poll(handle)
        let text = calls.app.log.text
        #expect(text.contains("backchannel authentication"))
        for secret in [
            handle, token, session, "2025550123", "SUBJECT-", "CARRIER-request", "ACCESS-token", TestApp.apiKey,
        ] { #expect(!text.contains(secret), "\(secret)") }
    }
}
