import Crypto
import HTTPTypes
import LatchkeyAPI
import OpenIDConnect
import Primitives
import SignIn
import StorageModel
import TestSupport
import Testing

/// How often one user can be asked, by whomever.
@Suite("The limits of prompts")
struct PromptLimitTests {
    private func calls(_ count: Int, seconds: Int = 600) throws -> BackchannelCalls {
        var limits = RequestLimits()
        limits.promptsPerUser = .init(count: count, seconds: seconds)
        return try BackchannelCalls(limits: limits)
    }

    private func prompts(_ calls: BackchannelCalls) -> Int {
        calls.app.carrier.http.requests(to: FakeCarrier.backchannelAuthenticationURL).count
    }

    @Test("count requests that were sent, also those that were cancelled")
    func cancelled() async throws {
        let calls = try calls(5)
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
        #expect(try await calls.start(apiKey: TestApp.otherAPIKey).status == 200)
        let refused = try await calls.retry(handle)
        #expect(refused.status == 429)
        #expect(refused.headers[.retryAfter] == "200")
        #expect(prompts(calls) == 3)
        #expect(try await calls.poll(handle).status == 200)
    }

    @Test("count no request that could not be sent")
    func unsent() async throws {
        let calls = try calls(1)
        #expect(try await calls.start(["redirect_uri": "\"https://evil.example\""]).status == 400)
        #expect(try await calls.start(["client_id": "\"nobody\""]).status == 400)
        #expect(try await calls.start().status == 200)
    }

    @Test("count all spellings of a number as one user", arguments: [3, 1])
    func spellings(waiting: Int) async throws {
        let calls = try BackchannelCalls(backchannel: { $0.waitingPerUser = waiting })
        for _ in 0..<waiting { #expect(try await calls.start(["login_hint": "\"+12125550100\""]).status == 200) }
        for spelling in [
            "12125550100", "tel:+12125550100", "TEL:12125550100", "+1-212-555-0100", "(212)555-0100", "2125550100",
            "1.212.555.0100", "+1(212)5550100", "tel:+1-212-555-0100;ext=5", "0012125550100", "01112125550100",
            "sip:+12125550100@carrier.example", "12125550100x5",
        ] {
            let refused = try await calls.start(["login_hint": "\"\(spelling)\""])
            #expect(refused.status == 429, "\(spelling)")
        }
        #expect(prompts(calls) == waiting)
        for other in ["+12125550101", "+13125550100", "12125550100-HINT", "e2125550100", "jane"] {
            #expect(try await calls.start(["login_hint": "\"\(other)\""]).status == 200, "\(other)")
        }
    }

    @Test(
        "read a number whatever its spelling",
        arguments: [
            ("+1 212 555 0100", "12125550100", "310410", true), (" 1 (212) 555-0100", "12125550100", "310410", true),
            ("+1 212 555 0100 ext. 7", "12125550100", "302720", true), ("2125550100", "+12125550100", "316010", true),
            ("+49 171 1234567", "0049-171-1234567", "26201", true),
            ("tel:491711234567", "+491711234567", "26201", true),
            ("+491711234567", "+491711234568", "26201", false), ("2125550100", "+12125550100", "26201", false),
            ("tel:5550100;phone-context=+1-212", "+12125550100", "310410", true),
            ("123456", "1-234-56", "310410", false), ("a2125550100", "2125550100", "310410", false),
            ("2125550100abc", "2125550100", "310410", false), ("", "+", "310410", false),
        ])
    func numbers(_ first: String, _ second: String, network: String, areEqual: Bool) throws {
        let network = try #require(MCCMNC(network))
        let users = [first, second].map { PromptedUser(Secret($0), at: network, of: "https://a.example") }
        #expect((users[0] == users[1]) == areEqual)
        let key = SymmetricKey(size: .bits256)
        #expect((users[0].hash(with: key) == users[1].hash(with: key)) == areEqual)
        #expect(users[0].hash(with: key) != users[0].hash(with: SymmetricKey(size: .bits256)))
    }

    @Test("tell the subjects of two carriers apart, and not the numbers")
    func subjects() throws {
        let network = try #require(MCCMNC("310410"))
        func user(_ hint: String, _ issuer: String) -> PromptedUser {
            PromptedUser(Secret(hint), at: network, of: issuer)
        }
        #expect(user("subject-1", "https://a.example") != user("subject-1", "https://b.example"))
        #expect(user("+12125550100", "https://a.example") == user("+12125550100", "https://b.example"))
    }

    @Test("leave other callers room at a carrier")
    func share() async throws {
        let calls = try BackchannelCalls(backchannel: { ($0.waitingPerCaller, $0.waitingPerCarrier) = (2, 4) })
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
            clientOrigins: [origin: ["client-1"]], backchannel: { $0.waitingPerCaller = 1 })
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
