import Capsules
import CarrierSimulator
import HTTPServer
import LatchkeyConfiguration
import Primitives
import TestSupport
import Testing

/// The capsules of the flows that the conformance run does not have: mobile operators, providers' backchannel
/// authentication, links; and of what unauthenticated callers send.
@Suite(.serialized) struct CapsuleFlowTests {
    private static let canaries = ["jane", "Jane", "ravi", "@example", "12025550", "2025550123", SignInHarness.secret]

    /// The only capsule, without anything personal.
    private func onlyCapsule(of harness: SignInHarness) async throws -> KeptCapsule {
        let capsules = try await harness.capsules()
        try #require(capsules.count == 1, "\(capsules)")
        for canary in Self.canaries { #expect(!capsules[0].withoutID.contains(canary), "\(canary) in \(capsules)") }
        #expect(capsules[0].cause?.isEmpty == false, "\(capsules)")
        return capsules[0]
    }

    /// A failure at a mobile operator or at Telco Finder, and its capsule.
    struct OperatorRow: Sendable, CustomTestStringConvertible {
        enum Way: Sendable { case browser, overWiFi, operatorToken, verification, choice }

        let way: Way
        var fault: CarrierSimulator.Fault?
        /// Whose fault it is.
        var at = "northwind"
        var simSwap = "{if_swapped: off}"
        var finder: [String]?
        let flow: String
        let code: String
        var check: String?
        let step: String?
        /// A text of the capsule.
        var shows = ""

        var testDescription: String { "\(way) \(fault?.name ?? "")" }
    }

    private static let operatorRows: [OperatorRow] = [
        OperatorRow(
            way: .browser, fault: .operatorNumber500, flow: "redirect", code: "carrier_error", step: "number",
            shows: #""started_here":true"#),
        OperatorRow(
            way: .overWiFi, flow: "redirect", code: "not_on_mobile_network", step: nil,
            shows: #""authorization_response":{"state":"‹"#),
        OperatorRow(
            way: .browser, fault: .operatorNeighbourIssuer, flow: "redirect", code: "issuer_mismatch", step: nil,
            shows: "names another issuer"),
        OperatorRow(
            way: .browser, fault: .operatorSIMSwapped, simSwap: "{if_swapped: refuse}", flow: "redirect",
            code: "sim_swapped", step: "sim", shows: #""json":{"swapped":true}"#),
        OperatorRow(
            way: .browser, fault: .operatorFinderNeighbour, at: "harbor", finder: [], flow: "redirect",
            code: "carrier_error", step: "finder"),
        OperatorRow(
            way: .operatorToken, fault: .operatorNumberNotJSON, flow: "operator_token", code: "carrier_error",
            step: "number", shows: #""operator_token":true"#),
        OperatorRow(
            way: .verification, fault: .operatorNumber500, flow: "phone_verification", code: "carrier_error",
            step: "number", shows: #""phone_number":"‹"#),
        OperatorRow(
            way: .verification, fault: .operatorNeighbourIssuer, flow: "phone_verification", code: "issuer_mismatch",
            step: nil, shows: "names another issuer"),
        OperatorRow(
            way: .choice, fault: .operatorFinder500, at: "harbor", finder: [], flow: "redirect", code: "carrier_error",
            step: "finder", shows: #""provider":"number""#),
        OperatorRow(
            way: .choice, fault: .operatorFinderOtherIssuer, at: "harbor", finder: [], flow: "redirect",
            code: "carrier_error", step: "finder"),
    ]

    @Test("A failure at a mobile operator leaves one capsule with its cause", arguments: operatorRows)
    func operators(row: OperatorRow) async throws {
        try await NumberWalk.with(simSwap: row.simSwap, finder: row.finder) { (walk) async throws in
            if let fault = row.fault { walk.simulator.setFaults([fault], for: row.at) }
            switch row.way {
            case .browser: #expect(try await walk.signIn().result == row.code)
            case .overWiFi: #expect(try await walk.signIn(device: "wifi").result == row.code)
            case .operatorToken: #expect(try await walk.signInByToken(of: "jane").result == row.code)
            case .verification: #expect(try await walk.verify().error == row.code)
            case .choice:
                let answer = try await walk.harness.app.post(
                    "/auth/number/start",
                    ["client_type": "ios", "redirect_uri": NumberWalk.redirectURI, "phone_number": NumberWalk.number])
                #expect(answer.error == row.code)
            }
            let capsule = try await onlyCapsule(of: walk.harness)
            #expect(capsule.flow == row.flow)
            #expect(capsule.code == row.code)
            #expect(capsule.step == row.step)
            #expect(capsule.description.contains(row.shows), "\(capsule)")
        }
    }

    @Test("A number that does not match, and a sign-in that succeeds, leave no capsule")
    func noFailure() async throws {
        try await NumberWalk.with { (walk) async throws in
            #expect(try await walk.signIn().result == "success")
            #expect(try await walk.verify("+12025550199").status == "mismatch")
            #expect(try await walk.harness.capsules().isEmpty)
        }
    }

    /// How a provider ends a backchannel authentication, and its capsule.
    struct BackchannelRow: Sendable, CustomTestStringConvertible {
        var fault: CarrierSimulator.Fault?
        var decision: CarrierSimulator.Decision?
        var seconds: Int64 = 10
        let code: String
        var providerCode: String?
        var check: String?
        /// The claim that the check found in the ID token.
        var found: String?
        var operation = "end"

        var testDescription: String { "\(fault?.name ?? "") \(code) \(providerCode ?? "")" }
    }

    private static let backchannelRows: [BackchannelRow] = [
        BackchannelRow(decision: .failed("access_denied"), code: "refused_by_carrier", providerCode: "access_denied"),
        BackchannelRow(seconds: 400, code: "expired_token"),
        BackchannelRow(
            fault: .idTokenOtherRequestID, decision: .approved, code: "invalid_id_token", check: "auth_req_id",
            found: "urn:openid:params:jwt:claim:auth_req_id"),
        BackchannelRow(
            fault: .idTokenExpired, decision: .approved, code: "invalid_id_token", check: "expiry", found: "exp"),
        BackchannelRow(fault: .ciba500, code: "carrier_error", operation: "start"),
    ]

    @Test(
        "A backchannel authentication that fails leaves one capsule, however often it is polled",
        arguments: backchannelRows)
    func backchannel(row: BackchannelRow) async throws {
        try await BackchannelWalk.with { (walk) async throws in
            if let fault = row.fault { walk.setFaults(fault) }
            let started = try await walk.start()
            if let handle = started.json["auth_req_id"]?.string {
                if let decision = row.decision { _ = try await walk.decide(decision) }
                #expect(try await walk.poll(handle, after: row.seconds).status >= 400)
                if row.code != "expired_token" { #expect(try await walk.poll(handle, after: 10).status >= 400) }
            }
            let capsule = try await onlyCapsule(of: walk.harness)
            #expect(capsule.flow == "backchannel_authentication")
            #expect(capsule.code == row.code)
            #expect(capsule.check == row.check)
            if let found = row.found { #expect(capsule.description.contains(#""found":{"\#(found)":"#), "\(capsule)") }
            if let code = row.providerCode { #expect(capsule.providerCode == code) }
            #expect(capsule.request?["operation"]?.string == row.operation)
            #expect(capsule.request?["delivery_mode"]?.string == "poll")
        }
    }

    @Test("A link that fails leaves one capsule")
    func link() async throws {
        try await SignInHarness.with { harness in
            let token = try #require(try await harness.app.signIn(harness.authorizedResponse()).token)
            harness.simulator.setFaults([.idTokenExpired], for: "310410")
            let fields = try harness.authorizedResponse(mccmnc: "310410")
            let answer = try await harness.app.asUser(
                "POST", "/users/me/identities", token, fields.merging(["provider": "zenkey"]) { $1 })
            #expect(answer.error == "invalid_id_token")
            let capsule = try await onlyCapsule(of: harness)
            #expect(capsule.flow == "link" && capsule.check == "expiry")
            #expect(capsule.correlationID == answer.json["correlation_id"]?.string)
        }
    }

    /// What anyone can send to `acme`: path, body, and a bearer token.
    private static let junk: [(method: String, path: String, body: String)] = [
        ("GET", "callback?state=unknown&code=1", ""), ("GET", "callback?state=1&state=2", ""),
        ("POST", "backchannel-logout", "logout_token=junk"),
        ("POST", "backchannel-logout", "logout_token=e30.e30.AAAA"),
        ("POST", "backchannel-logout", "logout_token=eyJhbGciOiJSUzI1NiJ9.e30.AAAA"),
    ]

    @Test("Whatever anyone sends leaves room for the capsules of sign-ins, and of one in another browser")
    func junk() async throws {
        try await ProviderWalk.with(
            clock: ManualClock().wallClock, configure: { $0[CapsuleSettings.self].maximumPerMinute = 27 }
        ) { walk in
            let harness = walk.harness
            for (method, path, body) in Self.junk {
                for _ in 0..<3 {
                    let answer = try await harness.app.send(
                        method, "/auth/acme/\(path)", headers: ["Content-Type: application/x-www-form-urlencoded"],
                        body: body)
                    #expect(answer.status == 400, "\(path) \(body)")
                }
            }
            let browser = Browser()
            let started = try await walk.start(browser, at: "acme")
            #expect(try await Browser().get(walk.approved(browser, started)).status == 400)
            harness.simulator.setFaults([.idTokenExpired], for: "acme")
            for _ in 0..<3 { _ = try await walk.signIn(Browser(), at: "acme") }
            let capsules = try await harness.capsules()
            #expect(capsules.count == 13, "\(capsules)")
            #expect(capsules.dropFirst(9).map(\.check) == [nil, "expiry", "expiry", "expiry"], "\(capsules)")
            #expect(capsules.dropFirst(9).first?.cause?.contains("another browser") == true, "\(capsules)")
        }
    }

    @Test("Whatever causes anyone invents for sign-ins without an API key, those with one have two thirds of a minute")
    func invented() async throws {
        try await ProviderWalk.with(
            clock: ManualClock().wallClock, configure: { $0[CapsuleSettings.self].maximumPerMinute = 9 }
        ) { walk in
            let harness = walk.harness
            let issuer = try #require(harness.simulator.issuer(of: "acme"))
            let causes: [[String: String]] = [
                ["error": "access_denied", "iss": issuer], ["iss": issuer],
                ["code": "1", "iss": "https://evil.example"], ["code": "invented", "iss": issuer],
                ["error": "login_required", "iss": issuer],
            ]
            for cause in causes {
                for _ in 0..<3 {
                    let browser = Browser()
                    let page = try await walk.start(browser, at: "acme")
                    let state = try #require(page.parameters.items.first { $0.name == "state" }?.value)
                    let query = App.form(cause.merging(["state": state]) { $1 })
                    #expect(try await browser.get("\(walk.origin)/auth/acme/callback?\(query)").status == 303)
                }
            }
            #expect(try await harness.capsules().count == 3)
            for fault in [.idTokenExpired, .tokenInvalidGrant] as [CarrierSimulator.Fault] {
                harness.simulator.setFaults([fault], for: SignInHarness.mccmnc)
                for _ in 0..<4 { _ = try await harness.app.signIn(harness.authorizedResponse()) }
            }
            let capsules = try await harness.capsules()
            #expect(capsules.map(\.flow) == Array(repeating: "redirect", count: 3) + Array(repeating: "code", count: 6))
        }
    }

    @Test("A flood of responses with an unknown state leaves room for the capsules of sign-ins")
    func flood() async throws {
        try await SignInHarness.with(configure: { $0[CapsuleSettings.self].maximumPerMinute = 9 }) { harness in
            let path = "/auth/zenkey/callback"
            var ids: Set<String> = []
            for number in 0..<20 {
                let answer = try await harness.app.send("GET", "\(path)?state=jane-\(number)&code=jane.doe")
                #expect(answer.status == 400)
                ids.insert(answer.response["x-request-id"] ?? "")
            }
            _ = try await harness.app.send("GET", "\(path)?state=1&state=2")
            _ = try await harness.app.send("GET", "\(path)?jane.doe=1&jane.doe=2")
            harness.simulator.setFaults([.idTokenExpired], for: SignInHarness.mccmnc)
            _ = try await harness.app.signIn(harness.authorizedResponse())
            let capsules = try await harness.capsules()
            #expect(capsules.map(\.flow) == ["redirect", "redirect", "redirect", "code"])
            #expect(capsules.prefix(3).allSatisfy { ids.contains($0.correlationID ?? "") })
            #expect(capsules[0].request?["has_browser_cookie"]?.bool == false)
            for capsule in capsules {
                for canary in Self.canaries { #expect(!capsule.withoutID.contains(canary), "\(capsule)") }
            }
        }
    }

    @Test(
        "A response whose parameters cannot be read leaves a capsule without their names",
        arguments: [
            ("state=1&state=2", "has state more than once"), ("jane.doe=1&jane.doe=2", "state is unknown"),
            ("state=a%20b&code=jane", "is malformed"),
        ])
    func unreadable(query: String, cause: String) async throws {
        try await SignInHarness.with { harness in
            let answer = try await harness.app.send("GET", "/auth/zenkey/callback?\(query)")
            let capsule = try await onlyCapsule(of: harness)
            #expect(capsule.cause?.contains(cause) == true, "\(capsule)")
            #expect(capsule.correlationID == answer.response["x-request-id"])
        }
    }
}
