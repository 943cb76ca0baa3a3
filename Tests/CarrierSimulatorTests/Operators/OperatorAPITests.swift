import CarrierSimulator
import HTTPServer
import HTTPTypes
import Primitives
import TestSupport
import Testing

@Suite("The CAMARA APIs of an operator")
struct OperatorAPITests {
    let operators = OperatorHarness()
    private static let purpose = "dpv:FraudPreventionAndDetection "
    private static let verifyPath = "/number-verification/v2/verify"
    private static let hash = Digests.sha256("+12025550123").hexadecimal

    // MARK: Number Verification

    @Test("/verify compares plain and hashed numbers")
    func verify() async throws {
        let other = Digests.sha256("+12025550187").hexadecimal
        let cases: [(String, Bool)] = [
            (#"{"phoneNumber":"+12025550123"}"#, true), (#"{"phoneNumber":"+12025550187"}"#, false),
            (#"{"hashedPhoneNumber":"\#(Self.hash)"}"#, true),
            (#"{"hashedPhoneNumber":"\#(Self.hash.uppercased())"}"#, true),
            (#"{"hashedPhoneNumber":"\#(other)"}"#, false),
        ]
        for (body, isVerified) in cases {
            let token = try await operators.accessToken(scope: OperatorHarness.verifyScope)
            let response = try await operators.verify(token, body)
            #expect(response.status == .ok)
            #expect(try response.object()["devicePhoneNumberVerified"]?.bool == isVerified, "\(body)")
        }
    }

    static let bodies = [
        "", "{}", "[]", #"{"additional_property":"foo_value"}"#, #"{"phoneNumber":"12025550123"}"#,
        #"{"phoneNumber":"+0202555"}"#, #"{"phoneNumber":"+1202"}"#, #"{"phoneNumber":"+1202555012300000"}"#,
        #"{"phoneNumber":7}"#, #"{"hashedPhoneNumber":"\#(hash.dropLast())"}"#,
        #"{"phoneNumber":"+12025550123","hashedPhoneNumber":"\#(hash)"}"#,
    ]

    @Test("/verify refuses bodies that do not fit the schema", arguments: bodies)
    func badBody(_ body: String) async throws {
        let token = try await operators.accessToken(scope: OperatorHarness.verifyScope)
        #expect(try Refused(try await operators.verify(token, body)) == Refused(400, "INVALID_ARGUMENT"))
    }

    @Test("An operator that takes no hashes refuses them")
    func noHashes() async throws {
        operators.simulator.update("northwind") { $0.operatorProfile?.acceptsHashedNumbers = false }
        let token = try await operators.accessToken(scope: OperatorHarness.verifyScope)
        let response = try await operators.verify(token, #"{"hashedPhoneNumber":"\#(Self.hash)"}"#)
        #expect(try Refused(response) == Refused(400, "INVALID_ARGUMENT"))
    }

    @Test("A token of Number Verification is good for one call")
    func once() async throws {
        let both = OperatorHarness.verifyScope + " number-verification:device-phone-number:read"
        let token = try await operators.accessToken(scope: both)
        #expect(try await operators.share(token).status == .ok)
        #expect(try Refused(try await operators.share(token)) == Refused(401, "UNAUTHENTICATED"))
        let other = try await operators.verify(token, #"{"phoneNumber":"+12025550123"}"#)
        #expect(try Refused(other) == Refused(401, "UNAUTHENTICATED"))
    }

    // MARK: Access tokens

    @Test("A missing, unknown, expired or foreign token, and one without the scope, are refused")
    func tokens() async throws {
        #expect(try Refused(try await operators.share(nil)) == Refused(401, "UNAUTHENTICATED"))
        let unknown = try await operators.share("unknown")
        #expect(try Refused(unknown) == Refused(401, "UNAUTHENTICATED"))
        #expect(unknown.headers[.wwwAuthenticate] == "Bearer error=\"invalid_token\"")
        #expect(try unknown.object()["status"]?.integer == 401)
        #expect(try unknown.object()["message"]?.string?.isEmpty == false)
        let foreign = try await operators.accessToken(at: "harbor")
        #expect(try Refused(try await operators.share(foreign)) == Refused(401, "UNAUTHENTICATED"))
        let unscoped = try await operators.accessToken(scope: OperatorHarness.verifyScope)
        #expect(try Refused(try await operators.share(unscoped)) == Refused(403, "PERMISSION_DENIED"))
        let client = try await operators.clientToken(scope: Self.purpose + "sim-swap:check")
        #expect(try Refused(try await operators.share(client)) == Refused(403, "PERMISSION_DENIED"))
        let late = try await operators.accessToken()
        operators.carriers.clock.advance(bySeconds: 300)
        #expect(try Refused(try await operators.share(late)) == Refused(401, "UNAUTHENTICATED"))
    }

    @Test("x-correlator comes back, also with errors; one that does not fit the schema is refused")
    func correlator() async throws {
        let path = "/number-verification/v2/device-phone-number"
        for token in [try await operators.accessToken(), "unknown"] {
            let response = try await operators.call(path, token: token, correlator: "a-Z_0:;./<>{}")
            #expect(response.headers[OperatorHarness.correlator] == "a-Z_0:;./<>{}")
        }
        for text in ["a b", "a,b", "é", String(repeating: "c", count: 257)] {
            let response = try await operators.call(
                path, token: try await operators.accessToken(), correlator: text)
            #expect(try Refused(response) == Refused(400, "INVALID_ARGUMENT"))
            #expect(response.headers[OperatorHarness.correlator] == nil)
        }
        let without = try await operators.call(path, token: try await operators.accessToken(), correlator: nil)
        #expect(without.status == .ok)
        #expect(operators.simulator.log.count(.devicePhoneNumber, "northwind") == 7)
        let first = operators.simulator.log.entries.first { $0.endpoint == .devicePhoneNumber }
        #expect(first?.correlator == "a-Z_0:;./<>{}")
    }

    // MARK: SIM Swap

    private func swap(_ path: String, _ body: String, scope: String = "sim-swap", hasUser: Bool) async throws
        -> Response
    {
        let token =
            hasUser
            ? try await operators.accessToken(scope: "openid " + Self.purpose + scope)
            : try await operators.clientToken(scope: Self.purpose + scope)
        return try await operators.call("/sim-swap/v2/\(path)", token: token, body: body)
    }

    private func setChange(hoursAgo hours: Int64) {
        operators.simulator.setSIMChange(
            at: operators.carriers.clock.now.advanced(bySeconds: -hours * 3600), of: "jane", at: "northwind")
    }

    @Test("/check compares the last change with maxAge, by default 240 hours")
    func check() async throws {
        let cases: [(hours: Int64, body: String, isSwapped: Bool)] = [
            (200, "{}", true), (241, "{}", false), (241, #"{"maxAge":241}"#, true), (12, #"{"maxAge":12}"#, true),
            (13, #"{"maxAge":12}"#, false), (2400, #"{"maxAge":2400}"#, true),
        ]
        for row in cases {
            setChange(hoursAgo: row.hours)
            let response = try await swap("check", row.body, hasUser: true)
            #expect(try response.object()["swapped"]?.bool == row.isSwapped, "\(row)")
        }
        let named = try await swap("check", #"{"phoneNumber":"+12025550123","maxAge":2400}"#, hasUser: false)
        #expect(try named.object()["swapped"]?.bool == true)
    }

    static let swapRefusals: [(body: String, hasUser: Bool, refused: Refused)] = [
        (#"{"maxAge":0}"#, true, Refused(400, "INVALID_ARGUMENT")),
        (#"{"maxAge":"12"}"#, true, Refused(400, "INVALID_ARGUMENT")),
        (#"{"maxAge":1.5}"#, true, Refused(400, "INVALID_ARGUMENT")),
        (#"{"maxAge":2401}"#, true, Refused(400, "OUT_OF_RANGE")),
        (#"{"phoneNumber":"+12025550123"}"#, true, Refused(422, "UNNECESSARY_IDENTIFIER")),
        ("{}", false, Refused(422, "MISSING_IDENTIFIER")),
        (#"{"phoneNumber":"2025550123"}"#, false, Refused(400, "INVALID_ARGUMENT")),
        (#"{"phoneNumber":"+12025559999"}"#, false, Refused(404, "IDENTIFIER_NOT_FOUND")),
        ("", false, Refused(400, "INVALID_ARGUMENT")),
    ]

    @Test("/check and /retrieve-date refuse calls that do not identify one number, or have a wrong period")
    func swapRefused() async throws {
        for row in Self.swapRefusals {
            let checked = try await swap("check", row.body, hasUser: row.hasUser)
            #expect(try Refused(checked) == row.refused, "\(row.body)")
            guard !row.body.contains("maxAge") else { continue }
            let dated = try await swap("retrieve-date", row.body, hasUser: row.hasUser)
            #expect(try Refused(dated) == row.refused, "\(row.body)")
        }
        let unscoped = try await swap("check", "{}", scope: "sim-swap:retrieve-date", hasUser: true)
        #expect(try Refused(unscoped) == Refused(403, "PERMISSION_DENIED"))
    }

    @Test("/retrieve-date has the last change, the activation, or null")
    func dates() async throws {
        let activated = try await swap("retrieve-date", "{}", hasUser: true).object()
        #expect(activated["latestSimChange"]?.string == "2024-01-01T00:00:00Z")
        setChange(hoursAgo: 24 * 31)
        let changed = try await swap("retrieve-date", "{}", hasUser: true).object()
        #expect(changed["latestSimChange"]?.string?.hasSuffix("Z") == true)
        operators.simulator.update("northwind") { $0.operatorProfile?.monitoredDays = 30 }
        let old = try await swap("retrieve-date", "{}", hasUser: true).object()
        #expect(old["latestSimChange"] == .null)
        #expect(old["monitoredPeriod"]?.integer == 30)
        let far = try await swap("check", #"{"maxAge":721}"#, hasUser: true)
        #expect(try Refused(far) == Refused(400, "OUT_OF_RANGE"))
        let form = [("user", "jane"), ("hours_ago", "2")]
        #expect(try await operators.carriers.post("/operators/northwind/sim-changes", form).status == .ok)
        #expect(try await swap("check", #"{"maxAge":3}"#, hasUser: true).object()["swapped"]?.bool == true)
    }

    // MARK: Telco Finder

    private func find(_ body: String) async throws -> Response {
        let token = try await operators.clientToken(scope: "telcofinder")
        return try await operators.call("/telco-finder/v1/search", token: token, body: body)
    }

    @Test("Telco Finder names the operator of a number")
    func finder() async throws {
        let target = #""target":{"phoneNumber":"+12025550142"}"#
        let found = try await find(
            "{" + target + #","includeApiRoot":true,"includeAuthProviderConfiguration":true,"#
                + #""portabilitySearchMode":"DEEP"}"#)
        let object = try found.object()
        #expect(object["operatorId"]?.string == "harbor")
        #expect(object["apiRoot"]?.string == operators.simulator.apiRoot(of: "harbor"))
        #expect(
            object["authProviderConfiguration"]?.string
                == OperatorHarness.otherIssuer + "/.well-known/openid-configuration")
        #expect(found.headers[.cacheControl] == "max-age=300")
        let short = try await find("{" + target + "}").object()
        #expect(short.members.map(\.name) == ["operatorId"])
        for member in [#""includeApiRoot":1"#, #""portabilitySearchMode":"deep""#] {
            #expect(try Refused(try await find("{\(target),\(member)}")) == Refused(400, "INVALID_ARGUMENT"))
        }
        operators.simulator.update("harbor") { $0.operatorProfile?.finderID = "HT-1" }
        #expect(try await find("{" + target + "}").object()["operatorId"]?.string == "HT-1")
        let unknown = try await find(#"{"target":{"phoneNumber":"+12025559999"}}"#)
        #expect(try Refused(unknown) == Refused(404, "IDENTIFIER_NOT_FOUND"))
        #expect(try Refused(try await find("{}")) == Refused(422, "MISSING_IDENTIFIER"))
        let malformed = try await find(#"{"target":{"phoneNumber":"1"}}"#)
        #expect(try Refused(malformed) == Refused(400, "INVALID_ARGUMENT"))
    }
}
