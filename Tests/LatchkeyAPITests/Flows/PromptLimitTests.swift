import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

@testable import Backchannel

/// How often one user can be asked, by whomever.
@Suite("The limits of prompts")
struct PromptLimitTests {
    private func calls(_ count: Int, seconds: Int = 600) throws -> BackchannelCalls {
        var limits = RequestLimits()
        limits.quotas[.promptsPerUser] = .init(count: count, seconds: seconds)
        return try BackchannelCalls(limits: limits)
    }

    private func prompts(_ calls: BackchannelCalls) -> Int {
        calls.app.carrier.http.requests(to: FakeCarrier.backchannelAuthenticationURL).count
    }

    @Test("count requests that were sent, also those that were cancelled")
    func cancelled() async throws {
        let calls = try calls(10)
        for _ in 0..<5 { #expect(try await calls.cancel(calls.handle()).status == 200) }
        for _ in 0..<3 {
            let refused = try await calls.start()
            #expect(refused.status == 429)
            #expect(refused.error == "rate_limited")
            #expect(refused.headers[.retryAfter] == "120")
            #expect(!refused.body.contains("202555"))
        }
        #expect(prompts(calls) == 5)
        #expect(try await calls.start(["login_hint": "\"+13105550100\""]).status == 200)
        calls.app.clock.advance(bySeconds: 120)
        #expect(try await calls.start().status == 200)
        #expect(try await calls.start().status == 429)
    }

    @Test("count retries, and requests of other callers")
    func retries() async throws {
        let calls = try calls(3)
        let handle = try await calls.handle()
        #expect(try await calls.retry(handle).status == 200)
        let other = try #require(try await calls.start(apiKey: TestApp.otherAPIKey).text("auth_req_id"))
        let refused = try await calls.retry(other, apiKey: TestApp.otherAPIKey)
        #expect(refused.status == 429)
        #expect(refused.headers[.retryAfter] == "200")
        #expect(prompts(calls) == 3)
        #expect(try await calls.poll(handle).status == 200)
    }

    @Test("leave other callers half of a user's prompts")
    func half() async throws {
        let calls = try calls(4)
        for _ in 0..<2 { #expect(try await calls.cancel(calls.handle()).status == 200) }
        let refused = try await calls.start()
        #expect(refused.status == 429)
        #expect(refused.headers[.retryAfter] == "300")
        for _ in 0..<2 {
            let handle = try #require(try await calls.start(apiKey: TestApp.otherAPIKey).text("auth_req_id"))
            #expect(try await calls.cancel(handle, apiKey: TestApp.otherAPIKey).status == 200)
        }
        #expect(try await calls.start(apiKey: TestApp.otherAPIKey).status == 429)
        #expect(prompts(calls) == 4)
    }

    @Test("count no request that could not be sent")
    func unsent() async throws {
        let calls = try calls(1)
        #expect(try await calls.start(["redirect_uri": "\"https://evil.example\""]).status == 400)
        #expect(try await calls.start(["client_id": "\"nobody\""]).status == 400)
        #expect(try await calls.start(["login_hint": "\"a12025550123\""]).status == 400)
        #expect(try await calls.start().status == 200)
    }

    @Test(
        "count no request that the carrier refused before it prompted the user",
        arguments: [
            (#"{"error":"user_not_found"}"#, 400, false), (#"{"error":"invalid_client"}"#, 401, false),
            (#"{"error":"invalid_login_hint"}"#, 200, false), (#"{"error":"device_unavailable"}"#, 400, false),
            // The user answered, or may have.
            (#"{"error":"access_denied"}"#, 400, true), (#"{"error":"authentication_timed_out"}"#, 400, true),
            (#"{"error":"server_error"}"#, 400, true), (#"{"error":"something_else"}"#, 400, true),
            (#"{"error":"user_not_found"}"#, 500, true), ("no JSON", 200, true),
        ])
    func refused(body: String, status: Int, counts: Bool) async throws {
        let calls = try calls(1)
        calls.app.carrier.script {
            $0.backchannelAuthentication = { _ throws(OutboundError) in .json(body, status: status) }
        }
        for _ in 0..<3 { #expect(try await calls.start().status != 200) }
        #expect(prompts(calls) == (counts ? 1 : 3))
        calls.app.carrier.script { $0.backchannelAuthentication = nil }
        let answer = try await calls.start()
        #expect(answer.status == (counts ? 429 : 200))
        guard !counts else { return }
        // A refused retry is given back, too.
        let handle = try #require(answer.text("auth_req_id"))
        calls.app.clock.advance(bySeconds: 600)
        calls.app.carrier.script {
            $0.backchannelAuthentication = { _ throws(OutboundError) in .json(body, status: status) }
        }
        #expect(try await calls.retry(handle).status != 200)
        calls.app.carrier.script { $0.backchannelAuthentication = nil }
        #expect(try await calls.retry(handle).status == 200)
        #expect(try await calls.retry(handle).status == 429)
    }

    @Test("count all spellings of a number as one user, and send its international form", arguments: [3, 1])
    func spellings(pending: Int) async throws {
        let calls = try BackchannelCalls(backchannel: { $0.pendingPerUser = 2 * pending })
        for _ in 0..<pending { #expect(try await calls.start(["login_hint": "\"+12125550100\""]).status == 200) }
        for spelling in [
            "12125550100", "tel:+12125550100", "TEL:+1-212-555-0100", "+1-212-555-0100", "(212)555-0100", "2125550100",
            "1.212.555.0100", "+1(212)5550100", "tel:+1-212-555-0100;ext=5", "tel:5550100;phone-context=+1-212",
        ] {
            let refused = try await calls.start(["login_hint": "\"\(spelling)\""])
            #expect(refused.status == 429, "\(spelling)")
            // To another caller's count, and to the carrier, it is the number.
            let handle = try #require(
                try await calls.start(["login_hint": "\"\(spelling)\""], apiKey: TestApp.otherAPIKey)
                    .text("auth_req_id"))
            #expect(try calls.asked()["login_hint"]?.string == "+12125550100", "\(spelling)")
            #expect(try await calls.cancel(handle, apiKey: TestApp.otherAPIKey).status == 200)
        }
        for other in ["+12125550101", "+13125550100", "310410-AbCd_12", "310410-AbCd_13"] {
            #expect(try await calls.start(["login_hint": "\"\(other)\""]).status == 200, "\(other)")
            #expect(try calls.asked()["login_hint"]?.string == other)
        }
    }

    @Test(
        "refuse a hint that is no number and no subject, and say what is expected",
        arguments: [
            "a4155550123", "4155550123extn5", "%2B14155550123", "14155550123x5", "0014155550123", "01114155550123",
            "sip:+14155550123@carrier.example", "+1 415 555 0123", "+1415555012", "+141555501234", "+11555550123",
            "4155550123;ext=5", "+14155550123;ext=5", "jane", "310410-4155550123", "31041-4155550123", "+14155550123-a",
            "\\u00e94155550123", "+1415555012\\u0663", "\\uff0b14155550123",
        ])
    func junk(hint: String) async throws {
        let calls = try BackchannelCalls()
        let refused = try await calls.start(["login_hint": "\"\(hint)\""])
        #expect(refused.status == 400)
        #expect(refused.error == "invalid_request")
        #expect(refused.description.contains("login_hint must be a phone number with + and its country code"))
        #expect(prompts(calls) == 0)
    }

    @Test("leave other callers room at a carrier")
    func share() async throws {
        let calls = try BackchannelCalls(backchannel: {
            ($0.pendingPerCaller, $0.pendingPerCarrier) = (2, 4)
        })
        func start(_ number: Int, _ apiKey: String) async throws -> Answer {
            try await calls.start(["login_hint": "\"+1212555010\(number)\""], apiKey: apiKey)
        }
        for number in 0..<2 { #expect(try await start(number, TestApp.apiKey).status == 200) }
        let refused = try await start(2, TestApp.apiKey)
        #expect(refused.status == 429)
        #expect(refused.headers[.retryAfter] == "30")
        for number in 3..<5 { #expect(try await start(number, TestApp.otherAPIKey).status == 200) }
    }

    @Test("count pages without a key by their address")
    func addresses() async throws {
        let origin = "https://shop.example"
        let calls = try BackchannelCalls(
            clientOrigins: [origin: ["client-1"]], backchannel: { $0.pendingPerCaller = 1 })
        func start(_ number: Int, from address: String) async throws -> Int {
            var body = BackchannelCalls.body.filter { $0.name != "login_hint" }
            body.append(("login_hint", "\"+1212555010\(number)\""))
            return try await calls.app.send(
                .post, BackchannelCalls.path, [.contentType: "application/json", .origin: origin],
                body: TokenText.object(body), apiKey: nil, from: address
            ).status
        }
        #expect(try await start(1, from: "192.0.2.1") == 200)
        #expect(try await start(2, from: "192.0.2.1") == 429)
        #expect(try await start(3, from: "192.0.2.2") == 200)
        #expect(try await start(4, from: "2001:db8::1") == 200)
        #expect(try await start(5, from: "2001:db8::2") == 429)
    }
}
