import HTTPTypes
import LatchkeyConfiguration
import OpenIDConnect
import Primitives
import SignIn
import Storage
import StorageModel
import TestSupport
import Testing

@testable import PhoneVerification

/// Operators that Telco Finder chooses, and numbers that it confirms.
@Suite("Telco Finder")
struct TelcoFinderTests {

    private static let number = "+14155550101"

    private func start(
        _ app: NumberApp, _ number: String = number, _ more: String = "", clientType: String = "ios"
    ) async throws -> Answer {
        try await app.send(
            .post, "/auth/number/start",
            body: """
                {"client_type":"\(clientType)","redirect_uri":"\(NumberApp.redirectURI)","correlation_id":"corr-1",\
                "phone_number":"\(number)"\(more)}
                """)
    }

    // MARK: Which operator

    @Test("An app posts its number, and is sent to the operator that Telco Finder names")
    func choice() async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        // A phone that says that it knows no network is looked up, too.
        let networks = ["northwind": #","mccmnc":"65535""#, "southwind": ""]
        for (name, network) in networks {
            app.finder.script { $0.owner = name }
            let answer = try await start(app, Self.number, network)
            let location = try #require(answer.text("location"), "\(answer.body)")
            #expect(location.hasPrefix("https://auth.\(name).example/authorize?"))
            #expect(!location.contains("4155550101"))
        }
        #expect(!app.log.text.contains("4155550101"))
    }

    @Test("Telco Finder gets one search with a token of its own, without a purpose")
    func request() async throws {
        let app = try NumberApp(telcoFinder: { $0.finder.portabilitySearch = .shallow })
        _ = try await start(app)
        let token = try #require(app.http.requests(to: app.finder.tokenURL).first)
        let form = String(decoding: token.body, as: UTF8.self).split(separator: "&")
        #expect(form.contains("grant_type=client_credentials") && form.contains("scope=telcofinder"))
        #expect(form.contains { $0.hasPrefix("client_assertion=") })
        let searches = app.http.requests(to: app.finder.searchURL)
        #expect(searches.count == 1)
        let search = try #require(searches.first)
        #expect(
            String(decoding: search.body, as: UTF8.self)
                == #"{"target":{"phoneNumber":"\#(Self.number)"},"includeApiRoot":true,"#
                + #""includeAuthProviderConfiguration":true,"portabilitySearchMode":"SHALLOW"}"#)
        #expect(search.headers.first { $0.name == "Authorization" }?.value.hasPrefix("Bearer ") == true)
        #expect(search.headers.first { $0.name == "x-correlator" }?.value == "corr-1")
        #expect(search.destination?.step == .telcoFinder)
    }

    @Test("An operator token with a number goes to the operator that Telco Finder names")
    func operatorToken() async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        app.finder.script { $0.owner = "southwind" }
        let answer = try await app.signIn(#""operator_token":"TS43-token","phone_number":"\#(Self.number)""#)
        #expect(answer.status == 200, "\(answer.body)")
        #expect(app.count(app.southwind.tokenURL) == 1 && app.count(app.northwind.tokenURL) == 0)
    }

    @Test("An operator or a network that is named is not looked up")
    func named() async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        app.finder.script { $0.owner = "northwind" }
        for more in [#","operator":"southwind""#, #","mccmnc":"310020""#] {
            let location = try await start(app, Self.number, more).text("location") ?? ""
            #expect(location.hasPrefix("https://auth.southwind.example/"))
        }
        #expect(app.count(app.finder.searchURL) == 0)
    }

    // MARK: By address

    /// A start of a phone at an address that names no network.
    private func start(_ app: NumberApp, from peer: String, _ more: String = "mccmnc=65535") async throws -> Answer {
        try await app.send(.get, NumberApp.query(more), [.accept: "application/json"], apiKey: nil, from: peer)
    }

    private func searches(_ app: NumberApp) -> [String] {
        app.http.requests(to: app.finder.searchURL).map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test(
        "A phone that names no network and no number is found by its public address, if that is configured",
        arguments: [
            ("84.125.93.10", #"{"ipv4Address":{"publicAddress":"84.125.93.10","publicPort":1}}"#),
            ("2a00:1028::1", #"{"ipv6Address":"2a00:1028:0:0:0:0:0:1"}"#),
            // Not public.
            ("127.0.0.1", nil), ("10.0.0.7", nil), ("100.64.0.1", nil), ("169.254.0.1", nil), ("203.0.113.7", nil),
            ("fd00::1", nil), ("::1", nil),
        ] as [(String, String?)])
    func byAddress(_ address: String, _ target: String?) async throws {
        let app = try NumberApp(telcoFinder: { $0.finder.findsByAddress = true })
        app.finder.script {
            $0.owner = "southwind"
            $0.finderCacheControl = "max-age=300"
        }
        // The address may soon be another phone's, so that no answer is kept.
        for count in 1...2 {
            let answer = try await start(app, from: address)
            #expect((answer.text("location") ?? "").hasPrefix("https://auth.southwind.example/") == (target != nil))
            #expect(target != nil || answer.error == "operator_unknown", "\(answer.body)")
            #expect(searches(app).count == (target == nil ? 0 : count))
        }
        for search in searches(app) { #expect(search.hasPrefix(#"{"target":\#(target ?? ""),"includeApiRoot""#)) }
        let other = try NumberApp(telcoFinder: { _ in })
        #expect(try await start(other, from: address).error == "operator_unknown")
        #expect(other.count(other.finder.tokenURL) == 0)
    }

    @Test("An operator, a network or a number that is named counts, and not the address")
    func namedNotByAddress() async throws {
        let app = try NumberApp(telcoFinder: { $0.finder.findsByAddress = true })
        app.finder.script { $0.owner = "northwind" }
        for more in ["operator=southwind", "mccmnc=310020"] {
            let location = try await start(app, from: "84.125.93.10", more).text("location") ?? ""
            #expect(location.hasPrefix("https://auth.southwind.example/"))
        }
        #expect(searches(app).isEmpty)
        _ = try await app.send(
            .post, "/auth/number/start",
            body: """
                {"client_type":"ios","redirect_uri":"\(NumberApp.redirectURI)","phone_number":"\(Self.number)"}
                """, from: "84.125.93.10")
        #expect(searches(app).count == 1 && searches(app)[0].contains(#""phoneNumber""#))
    }

    @Test("An address of no operator is refused, and one network of callers may cause 600 look-ups an hour")
    func addressLimits() async throws {
        let app = try NumberApp(telcoFinder: { $0.finder.findsByAddress = true })
        app.finder.script { $0.owner = nil }
        #expect(try await start(app, from: "84.125.93.10").error == "operator_unknown")
        let subnet = try #require(IPAddress("84.125.93.0"))
        let use = AllowanceUse(
            of: "address lookup by \(subnet.high) \(subnet.low)", OperatorDirectory.addressAllowance)
        for _ in 1..<600 { _ = try await app.testStore.store.count([use], at: app.clock.wallClock.now()) }
        let refused = try await start(app, from: "84.125.93.77")
        #expect(refused.status == 429 && refused.error == "rate_limited", "\(refused.body)")
        #expect(try await start(app, from: "84.125.94.77").error == "operator_unknown")
        #expect(searches(app).count == 2)
        app.clock.advance(bySeconds: 3600)
        #expect(try await start(app, from: "84.125.93.77").error == "operator_unknown")
    }

    @Test(
        "A number of no operator, and of one that is not configured, is refused",
        arguments: [nil, "eastwind", "NORTHWIND"])
    func unknown(_ owner: String?) async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        app.finder.script { $0.owner = owner }
        let answer = try await start(app)
        #expect(answer.status == 400 && answer.error == "operator_unknown", "\(answer.body)")
    }

    @Test("A number in an address, a malformed one, and a start of a browser are refused before the lookup")
    func refused() async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        for name in ["phone_number", "phoneNumber"] {
            let answer = try await app.send(
                .get, NumberApp.query("\(name)=%2B14155550101"), [.accept: "application/json"])
            #expect(answer.error == "invalid_request" && answer.description.contains("in an address"))
        }
        for number in ["14155550101", "+0415", "+1 415 555 0101", ""] {
            let answer = try await start(app, number)
            // An empty one counts as omitted.
            let error = number.isEmpty ? "operator_unknown" : "invalid_request"
            #expect(answer.status == 400 && answer.error == error, "\(number)")
        }
        for type in ["web", "spa", "popup"] {
            #expect(try await start(app, clientType: type).error == "invalid_request")
        }
        #expect(app.count(app.finder.tokenURL) == 0)
        let without = try NumberApp()
        #expect(try await start(without).error == "operator_unknown")
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        let what: String
        let answer: FakeOperator.Answer
        let status: Int
        let error: String
        var testDescription: String { what }
    }

    static let failures = [
        Failure(
            what: "no answer",
            answer: { _ throws(OutboundError) in throw OutboundError(.timedOut, mayHaveBeenSent: true, reason: "slow")
            },
            status: 504, error: "carrier_timeout"),
        Failure(what: "500", answer: { _ in .json("{}", status: 500) }, status: 502, error: "carrier_error"),
        Failure(what: "no JSON", answer: { _ in .json("<p>") }, status: 502, error: "carrier_error"),
        Failure(
            what: "no id", answer: { _ in .json(#"{"apiRoot":"https://a.example"}"#) }, status: 502,
            error: "carrier_error"),
        Failure(
            what: "a number as id", answer: { _ in .json(#"{"operatorId":7}"#) }, status: 502, error: "carrier_error"),
        Failure(
            what: "an id with a space", answer: { _ in .json(#"{"operatorId":"a b"}"#) }, status: 502,
            error: "carrier_error"),
        Failure(
            what: "a root that is no text", answer: { _ in .json(#"{"operatorId":"northwind","apiRoot":[]}"#) },
            status: 502,
            error: "carrier_error"),
        Failure(
            what: "a redirect", answer: { _ in OutboundResponse(status: 307) }, status: 502, error: "carrier_error"),
        Failure(
            what: "a refused token", answer: { _ in FakeOperator.error(401, "UNAUTHENTICATED") }, status: 502,
            error: "carrier_error"),
        Failure(
            what: "no permission", answer: { _ in FakeOperator.error(403, "PERMISSION_DENIED") }, status: 502,
            error: "carrier_error"),
        Failure(
            what: "too many", answer: { _ in FakeOperator.error(429, "TOO_MANY_REQUESTS") }, status: 503,
            error: "temporarily_unavailable"),
    ]

    @Test("A Telco Finder that does not tell chooses no operator", arguments: failures)
    func failure(_ row: Failure) async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        app.finder.script { $0.search = row.answer }
        let answer = try await start(app)
        #expect(answer.status == row.status && answer.error == row.error, "\(answer.body)")
        #expect(app.count(app.finder.searchURL) == 1, "it is asked once")
        app.finder.script {
            $0.search = nil; $0.token = { _ in .json(#"{"error":"consent_required"}"#, status: 400) }
        }
        #expect(try await start(app).status == 502)
    }

    @Test(
        "An answer that contradicts the configuration is refused, and its URLs are not requested",
        arguments: [
            (#","apiRoot":"https://api.northwind.example""#, true),
            (#","apiRoot":"https://api.northwind.example/""#, true),
            (#","apiRoot":null"#, true), (#","apiRoot":"https://api.evil.example""#, false),
            (#","apiRoot":"https://api.northwind.example/v2""#, false),
            (#","apiRoot":"http://api.northwind.example""#, false),
            (#","authProviderConfiguration":"https://auth.northwind.example/.well-known/openid-configuration""#, true),
            (#","authProviderConfiguration":"https://auth.evil.example/.well-known/openid-configuration""#, false),
            (#","authProviderConfiguration":"https://auth.northwind.example""#, false),
        ])
    func contradiction(_ members: String, _ isGood: Bool) async throws {
        let app = try NumberApp(telcoFinder: { ($0.ifOtherOperator, $0.ifUnknown) = (.report, .accept) })
        app.finder.script { $0.ownerMembers = members }
        let answer = try await start(app)
        #expect(answer.status == (isGood ? 200 : 502), "\(answer.body)")
        #expect(app.http.requests.allSatisfy { !$0.url.text.contains("evil") })
        #expect(app.log.text.contains("telco finder contradicts the configuration") == !isGood)
        #expect(try await app.outcome()["error"] == (isGood ? nil : "carrier_error"))
    }

    @Test("A number is looked up five times an hour for one caller, and a network looks up sixty")
    func limits() async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        for _ in 0..<5 { #expect(try await start(app).status == 200) }
        let answer = try await start(app)
        #expect(answer.status == 429 && answer.error == "rate_limited")
        #expect(answer.headers[.retryAfter] == "720")
        for index in 0..<55 { #expect(try await start(app, "+14155551\(100 + index)").status == 200) }
        #expect(try await start(app, "+14155552000").status == 429)
        app.clock.advance(bySeconds: 3600)
        #expect(try await start(app).status == 200)
        #expect(app.count(app.finder.searchURL) == 61)
    }

    @Test(
        "An answer is kept as long as it allows, for an hour at most",
        arguments: [
            (nil, 0), ("no-store", 0), ("max-age=0", 0), ("max-age=60", 60), ("private, max-age=60", 60),
            ("max-age=60, no-cache", 0), ("max-age=99999", 3600), ("max-age=x", 0),
        ] as [(String?, Int64)])
    func cache(_ field: String?, _ seconds: Int64) async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        app.finder.script { $0.finderCacheControl = field }
        _ = try await start(app)
        app.clock.advance(bySeconds: max(0, seconds - 1))
        _ = try await start(app)
        #expect(app.count(app.finder.searchURL) == (seconds == 0 ? 2 : 1))
        _ = try await start(app, "+14155550102")
        #expect(app.count(app.finder.searchURL) == (seconds == 0 ? 3 : 2), "another number")
        app.clock.advance(bySeconds: 1)
        _ = try await start(app)
        #expect(app.count(app.finder.searchURL) == (seconds == 0 ? 4 : 3))
    }

    // MARK: Whether a number is the operator's

    struct Check: Sendable, CustomTestStringConvertible {
        let what: String
        var owner: String? = "northwind"
        var answer: FakeOperator.Answer?
        var ifOther = NumberContradiction.refuse
        var ifUnknown = NumberUncertainty.refuse
        var error: String?
        var logged: String?
        var searches = 1
        var testDescription: String { what }
    }

    private static let silence: FakeOperator.Answer = { _ throws(OutboundError) in
        throw OutboundError(.timedOut, mayHaveBeenSent: true, reason: "slow")
    }

    static let checks = [
        Check(what: "its own number", logged: "same"),
        Check(what: "another operator's", owner: "southwind", error: "carrier_error"),
        Check(what: "another operator's, reported", owner: "southwind", ifOther: .report, logged: "other"),
        Check(what: "another operator's, unchecked", owner: "southwind", ifOther: .off, searches: 0),
        Check(what: "one that is not configured", owner: "eastwind", error: "carrier_error"),
        Check(
            what: "one that is not configured, accepted if unknown", owner: "eastwind", ifUnknown: .accept,
            error: "carrier_error"),
        Check(what: "nobody's", owner: nil, error: "carrier_error"),
        Check(what: "nobody's, reported", owner: nil, ifOther: .report, error: "carrier_error"),
        Check(what: "nobody's, accepted", owner: nil, ifUnknown: .accept, logged: "unknown"),
        Check(what: "not told", answer: silence, error: "carrier_timeout"),
        Check(what: "not told, accepted", answer: silence, ifUnknown: .accept, logged: "unknown"),
        Check(
            what: "an error, accepted", answer: { _ in .json("{}", status: 500) }, ifUnknown: .accept, logged: "unknown"
        ),
    ]

    @Test("The number that an operator reports must be this operator's", arguments: checks)
    func check(_ row: Check) async throws {
        var policy = SIMSwapPolicy()
        policy.ifSwapped = .report
        let app = try NumberApp(
            simSwap: policy, telcoFinder: { ($0.ifOtherOperator, $0.ifUnknown) = (row.ifOther, row.ifUnknown) })
        app.finder.script { ($0.owner, $0.search) = (row.owner, row.answer) }
        let outcome = try await app.outcome()
        #expect(outcome["error"] == row.error, "\(outcome)")
        #expect(app.count(app.finder.searchURL) == row.searches)
        #expect(app.log.signIns.last?.metadata["telco_finder"] == row.logged)
        #expect(
            app.count(app.northwind.swapURL) == (row.error == nil ? 1 : 0), "a refused number's SIM is not asked about")
        if row.error != nil { #expect(app.log.signIns.last?.metadata["failed_step"] == "finder") }
        #expect(!app.log.text.contains("4155550101"))
    }

    @Test("A sign-in that began with the number asks once, if the answer may be kept")
    func once() async throws {
        let app = try NumberApp(telcoFinder: { _ in })
        app.finder.script { $0.finderCacheControl = "max-age=300" }
        let location = try #require(try await start(app).text("location"))
        let authorization = NumberApp.Authorization(location)
        let code = app.northwind.authorize(nonce: try #require(authorization.parameters["nonce"]))
        #expect(try await app.finish(authorization, code: code)["status"] == "success")
        #expect(app.count(app.finder.searchURL) == 1)
    }
}
