import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The faults of operators")
struct OperatorFaultTests {
    typealias Fault = CarrierSimulator.Fault
    let operators = OperatorHarness()
    private static let purpose = "dpv:FraudPreventionAndDetection "

    private func set(_ fault: Fault) { operators.simulator.setFaults([fault], for: "northwind") }

    // MARK: Authorization

    @Test("A missing consent ends authorization requests with an error")
    func authorization() async throws {
        set(.operatorConsentRequired)
        #expect(try await operators.authorize().destination().query["error"] == "consent_required")
    }

    @Test("Consent is needed for operator tokens, too")
    func consent() async throws {
        set(.operatorConsentRequired)
        let subject = "operatortoken:" + (try operators.simulator.makeOperatorToken(at: "northwind").required)
        let granted = try await operators.token([
            "grant_type": OperatorHarness.jwtBearer, "assertion": try operators.grantAssertion(subject),
            "client_assertion": nil,
        ])
        #expect(try Refused(granted) == Refused(400, "invalid_grant"))
        let started = try await start(subject)
        #expect(try Refused(started) == Refused(403, "access_denied"))
    }

    @Test("A response may name another operator, and a number another subscriber")
    func identity() async throws {
        let first = try await subject()
        set(.operatorNumberRecycled)
        let second = try await subject()
        #expect(first.number == second.number)
        #expect(first.subject != second.subject)
        set(.operatorNeighbourIssuer)
        #expect(try await operators.authorize().destination().query["iss"] == OperatorHarness.otherIssuer)
    }

    private func subject() async throws -> (subject: String, number: String) {
        let tokens = try await operators.redeem(try await operators.code()).object()
        let number = try await operators.share(tokens["access_token"]?.string).object()["devicePhoneNumber"]
        return (
            try SignedToken(tokens["id_token"]?.string ?? "").claims["sub"].required.string.required,
            try number.required.string.required
        )
    }

    // MARK: Backchannel authentication

    private func start(_ hint: String) async throws -> Response {
        try await operators.carriers.post(
            "/operators/northwind/bc-authorize",
            [
                ("scope", OperatorHarness.scope), ("login_hint", hint),
                ("client_assertion_type", OperatorHarness.assertionType),
                ("client_assertion", try operators.assertion(for: OperatorHarness.issuer + "/bc-authorize")),
            ])
    }

    static let pollFaults: [(fault: Fault, errors: [String?])] = [
        (.operatorBackchannelExpired, ["expired_token", "expired_token"]),
        (.operatorBackchannelDenied, ["access_denied", "access_denied"]),
    ]

    @Test("Faults change the end of polls", arguments: pollFaults.map(\.fault))
    func polls(_ fault: Fault) async throws {
        set(fault)
        let errors = try Self.pollFaults.first { $0.fault == fault }.required.errors
        let hint = "operatortoken:" + (try operators.simulator.makeOperatorToken(at: "northwind").required)
        let id = try await start(hint).object()["auth_req_id"].required.string.required
        for (index, error) in errors.enumerated() {
            let now = OperatorHarness.start + index * 10
            let response = try await operators.token([
                "grant_type": OperatorHarness.ciba, "auth_req_id": id,
                "client_assertion": try operators.assertion(changing: ["iat": "\(now)", "exp": "\(now + 60)"]),
                "client_assertion_type": OperatorHarness.assertionType,
            ])
            #expect(try response.object()["error"]?.string == error)
            operators.carriers.clock.advance(bySeconds: 10)
        }
    }

    // MARK: APIs

    struct Case: Sendable, CustomTestStringConvertible {
        let fault: Fault
        let path: String
        var body: String?
        var refused = Refused(200, nil)
        /// A part of the response's content.
        var content = ""
        var testDescription: String { fault.name }
    }

    private static let share = "/number-verification/v2/device-phone-number"
    private static let check = "/sim-swap/v2/check"
    private static let search = "/telco-finder/v1/search"
    private static let target =
        #"{"target":{"phoneNumber":"+12025550123"},"includeApiRoot":true,"includeAuthProviderConfiguration":true}"#

    static let cases = [
        Case(fault: .operatorWrongAudience, path: share, refused: Refused(401, "UNAUTHENTICATED")),
        Case(fault: .operatorQuotaExceeded, path: share, refused: Refused(429, "QUOTA_EXCEEDED")),
        Case(fault: .operatorWrongNumber, path: share, content: "+12025550100"),
        Case(fault: .operatorNumberMalformed, path: share, content: #":"12025550123""#),
        Case(fault: .operatorTokenUsed, path: share, refused: Refused(401, "UNAUTHENTICATED")),
        Case(
            fault: .operatorNotNetworkAuthenticated, path: share,
            refused: Refused(403, "NUMBER_VERIFICATION.USER_NOT_AUTHENTICATED_BY_MOBILE_NETWORK")),
        Case(fault: .operatorNumber500, path: share, refused: Refused(500, nil)),
        Case(fault: .operatorNumberNotJSON, path: share, content: "<!doctype html>"),
        Case(fault: .operatorNumberRedirect, path: share, refused: Refused(302, nil)),
        Case(fault: .operatorSIMSwapped, path: check, body: "{}", content: "true"),
        Case(
            fault: .operatorSIMSwapUnknown, path: check, body: "{}", refused: Refused(422, "SERVICE_NOT_APPLICABLE")),
        Case(
            fault: .operatorFinderUnknown, path: search, body: target, refused: Refused(404, "IDENTIFIER_NOT_FOUND")),
        Case(fault: .operatorFinderNeighbour, path: search, body: target, content: "harbor"),
        Case(
            fault: .operatorFinderOtherRoot, path: search, body: target,
            content: #""apiRoot":"\#(OperatorHarness.issuer)/canary/api""#),
        Case(
            fault: .operatorFinderOtherIssuer, path: search, body: target,
            content: #""authProviderConfiguration":"\#(OperatorHarness.issuer)/canary/issuer/"#),
        Case(fault: .operatorFinder500, path: search, body: target, refused: Refused(500, nil)),
        Case(fault: .operatorFinderNotJSON, path: search, body: target, content: "<!doctype html>"),
    ]

    private func call(_ path: String, _ body: String?) async throws -> Response {
        let token =
            path == Self.search
            ? try await operators.clientToken(scope: "telcofinder")
            : try await operators.accessToken(scope: OperatorHarness.scope + " sim-swap")
        return try await operators.call(path, token: token, body: body)
    }

    @Test("A fault changes the response of its API", arguments: cases)
    func apis(_ row: Case) async throws {
        set(row.fault)
        let response = try await call(row.path, row.body)
        #expect(try Refused(response) == row.refused)
        #expect(row.content.isEmpty || response.text.contains(row.content), "\(response.text)")
    }

    @Test("A wrong number verifies no number")
    func wrongNumber() async throws {
        set(.operatorWrongNumber)
        let token = try await operators.accessToken(scope: OperatorHarness.verifyScope)
        let response = try await operators.verify(token, #"{"phoneNumber":"+12025550123"}"#)
        #expect(try response.object()["devicePhoneNumberVerified"]?.bool == false)
    }

    @Test("Every fault of operators has a test case")
    func everyFault() {
        let tested =
            Self.pollFaults.map(\.fault) + Self.cases.map(\.fault)
            + [.operatorConsentRequired, .operatorNumberRecycled, .operatorNeighbourIssuer]
        let own = Fault.allCases.filter { $0.name.hasPrefix("operator-") }
        #expect(Set(tested) == Set(own))
        #expect(tested.count == own.count)
    }
}
