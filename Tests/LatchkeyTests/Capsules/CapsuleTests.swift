import Capsules
import CarrierSimulator
import HTTPServer
import HTTPTypes
import LatchkeyConfiguration
import LatchkeyService
import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

/// The capsules of failed sign-ins, as operators read them.
@Suite struct CapsuleTests {
    /// A fault of the carrier, and what its capsule names.
    struct Row: Sendable, CustomTestStringConvertible {
        let fault: CarrierSimulator.Fault
        let code: String
        var check: String?
        var providerCode: String?
        /// A text of the capsule.
        let shows: String

        var testDescription: String { fault.name }
    }

    private static let rows: [Row] = [
        Row(
            fault: .idTokenExpired, code: "invalid_id_token", check: "expiry",
            shows: #""check":"expiry","verdict":"failed","expected":{"after":"#),
        Row(
            fault: .idTokenWrongNonce, code: "invalid_id_token", check: "nonce",
            shows: #""check":"nonce","verdict":"failed","expected":"‹word 22 "#),
        Row(
            fault: .idTokenOtherAudience, code: "invalid_id_token", check: "audience",
            shows: #""check":"audience","verdict":"failed","expected":"ccid-1","found":{"aud":"‹"#),
        Row(
            fault: .tokenInvalidGrant, code: "refused_by_carrier", providerCode: "invalid_grant",
            shows: #""json":{"error":"invalid_grant""#),
        Row(
            fault: .tokenNotJSON, code: "carrier_error",
            shows: #""not_json":{"fault":"unexpected_byte","offset":0}"#),
        Row(
            fault: .tokenDuplicateMember, code: "carrier_error",
            shows: #""not_json":{"fault":"duplicate_member","offset":"#),
        Row(
            fault: .userInfoWrongSubject, code: "invalid_id_token", check: "userinfo_subject",
            shows: #""check":"signature","verdict":"passed""#),
    ]

    private static let canaries = ["jane", "Jane", "@example", "2025550123", SignInHarness.secret]

    /// Fails a sign-in; returns what was sent and the response.
    private func fail(
        _ harness: SignInHarness, _ fault: CarrierSimulator.Fault
    ) async throws -> (fields: [String: String], answer: App.Answer) {
        harness.simulator.update(SignInHarness.mccmnc) { $0.faults = [fault] }
        var fields = try harness.authorizedResponse(scope: "openid name email")
        fields["scope"] = "openid name email"
        let answer = try await harness.app.signIn(fields)
        #expect(answer.status >= 400)
        harness.simulator.update(SignInHarness.mccmnc) { $0.faults = [] }
        return (fields, answer)
    }

    private func admin<Value>(
        _ harness: SignInHarness, _ body: (AdminService) async throws -> Value
    ) async throws -> Value { try await harness.asOperator(body) }

    @Test("A capsule names the cause of a failure, what was expected and found, and nothing personal", arguments: rows)
    func cause(row: Row) async throws {
        try await SignInHarness.with { harness in
            let (fields, answer) = try await fail(harness, row.fault)
            let id = try #require(answer.json["correlation_id"]?.string)
            let text = try await admin(harness) { try await $0.capsule(of: id).json[0] }
            let capsule = try #require(try JSONValue(parsing: Array(text.utf8)).object)
            let failure = try #require(capsule["failure"]?.object)
            #expect(failure["code"]?.string == row.code)
            #expect(failure["check"]?.string == row.check)
            #expect(failure["provider_code"]?.string == row.providerCode)
            #expect(failure["cause"]?.string?.isEmpty == false)
            #expect(text.contains(row.shows), "\(text)")
            #expect(capsule["metadata"]?.object?["age_seconds"]?.integer.map { (0...60).contains($0) } == true)
            let secrets = ["code", "code_verifier", "nonce"].compactMap { fields[$0] }
            // The id is random, and may contain a name.
            let content = text.replacing(id, with: "")
            for canary in Self.canaries + secrets { #expect(!content.contains(canary), "\(canary) in \(text)") }
        }
    }

    @Test("The commands find a capsule by its correlation id, and say so if there is none")
    func commands() async throws {
        try await SignInHarness.with { harness in
            let (_, answer) = try await fail(harness, .idTokenExpired)
            let id = try #require(answer.json["correlation_id"]?.string)
            try await admin(harness) { admin in
                let lines = try await admin.capsules(limit: 10).text
                #expect(lines.count == 1)
                let failure = "flow=code code=invalid_id_token check=expiry step=validate"
                #expect(lines.first?.hasSuffix(" \(id) zenkey \(failure)") == true, "\(lines)")
                let json = try await admin.capsule(of: id).json[0]
                #expect(try await admin.capsules(limit: 10).json == [json])
                let shown = try await admin.capsule(of: id).text
                #expect(shown.contains("failure.check: expiry"))
                // The cause and the failed check come first, with times as dates.
                #expect(shown.dropFirst().first == "cause: The ID token has expired, or has no valid exp.")
                let failed = try #require(shown.dropFirst(2).first)
                #expect(failed.hasPrefix("check expiry             failed       expected after 20"), "\(failed)")
                for text in ["Z (1 min earlier) found exp 20", "Z (6 min earlier), iat 20", "Z (8 min earlier)"] {
                    #expect(failed.contains(text), "\(text) in \(failed)")
                }
                #expect(shown.count { $0.hasPrefix("check expiry ") } == 1)
                let none = await #expect(throws: AdministratorError.self) { try await admin.capsule(of: "another") }
                #expect(none?.description.contains("that must register first") == true)
                for endpoint in ["pushed_authorization_request", "server_initiated_authorization"] {
                    let line = shown.first { $0.hasPrefix("metadata.\(endpoint)_endpoint: http") }
                    #expect(line?.contains("‹") == false, "\(line ?? "")")
                }
                await #expect(throws: AdministratorError.self) { try await admin.capsules(limit: 0) }
            }
        }
    }

    @Test("A sign-in without a failure leaves no capsule, nor does a request that names no provider or client")
    func none() async throws {
        try await SignInHarness.with { harness in
            #expect(try await harness.app.signIn(harness.authorizedResponse()).status == 200)
            var fields = try harness.authorizedResponse()
            fields["client_id"] = "nobody"
            #expect(try await harness.app.signIn(fields).status >= 400)
            #expect(try await admin(harness) { try await $0.capsules(limit: 10).text }.isEmpty)
        }
    }

    @Test("capsules.count 0 makes none")
    func off() async throws {
        try await SignInHarness.with(configure: { $0[CapsuleSettings.self].count = 0 }) { harness in
            _ = try await fail(harness, .idTokenExpired)
            #expect(try await admin(harness) { try await $0.capsules(limit: 10).text }.isEmpty)
        }
    }

    @Test("One cause has a third of the capsules.per_minute capsules of a minute; the rest is counted")
    func limited() async throws {
        let clock = ManualClock()
        try await SignInHarness.with(
            clock: clock.wallClock, configure: { $0[CapsuleSettings.self].maximumPerMinute = 6 }
        ) {
            harness in
            for _ in 0..<3 { _ = try await fail(harness, .tokenInvalidGrant) }
            #expect(try await admin(harness) { try await $0.capsules(limit: 10).text }.count == 2)
            for fault in [.idTokenExpired, .idTokenWrongNonce, .tokenNotJSON, .tokenDuplicateMember, .idTokenAlgNone]
                as [CarrierSimulator.Fault]
            { _ = try await fail(harness, fault) }
            #expect(try await admin(harness) { try await $0.capsules(limit: 10).text }.count == 6)
            clock.advance(bySeconds: 60)
            _ = try await fail(harness, .tokenInvalidGrant)
            #expect(try await admin(harness) { try await $0.capsules(limit: 10).text }.count == 7)
            let metrics = try await harness.app.metrics()
            #expect(metrics.sum("latchkey_capsules_total", #"outcome="dropped""#) == 2)
            #expect(metrics.sum("latchkey_capsules_total", #"outcome="stored""#) == 7)
        }
    }

    /// What a hostile carrier adds to its token response, and what its capsule shows or does not show.
    struct HostileRow: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let content: JSONValue
        var hides: [String] = []
    }

    private static let hostileRows: [HostileRow] = [
        HostileRow(
            testDescription: "deeper than a reader can parse",
            content: (0..<28).reduce(JSONValue.string("v")) { value, _ in .array([value]) }),
        HostileRow(
            testDescription: "more values than a part may have",
            content: .object(of: (0..<60).map { number in ("m\(number)", .array(Array(repeating: 7, count: 9))) })),
        HostileRow(
            testDescription: "URLs outside of discovery",
            content: ["token_endpoint": "https://canary-1.example/", "jwks_uri": "https://canary-2.example/"],
            hides: ["canary-1", "canary-2"]),
        HostileRow(
            testDescription: "numbers that are no times",
            content: .object(of: [
                ("iat", 4_155_550_123), ("exp", 14_155_550_123), ("expires_in", 4_155_550_124),
                ("auth_time", .array([4_155_550_125])),
            ]), hides: ["4155550123", "14155550123", "4155550124", "4155550125"]),
    ]

    @Test("Hostile content leaves a capsule that can be read, with each check of the ID token", arguments: hostileRows)
    func hostile(row: HostileRow) async throws {
        try await SignInHarness.with { harness in
            harness.simulator.update(SignInHarness.mccmnc) { carrier in
                carrier.tampering.objects[.token, default: []].append { $0["added"] = row.content }
            }
            let (_, answer) = try await fail(harness, .idTokenExpired)
            let id = try #require(answer.json["correlation_id"]?.string)
            try await admin(harness) { admin in
                let text = try await admin.capsule(of: id).json[0]
                #expect(text.contains(#""check":"expiry","verdict":"failed","expected":{"after":"#))
                #expect(text.contains(#""found":{"exp":1"#), "\(text)")
                for value in row.hides { #expect(!text.contains(value), "\(text)") }
                #expect(try await admin.capsules(limit: 10).text.first?.contains("check=expiry") == true)
            }
        }
    }

    /// A URL in a discovery document that is refused, and what its capsule shows of it.
    struct URLRow: Sendable, CustomTestStringConvertible {
        let url: String
        let shows: String
        var testDescription: String { url }
    }

    private static let urlRows: [URLRow] = [
        URLRow(url: "https://other.example/users/canary-1?sub=canary-2#canary-3", shows: "\"https://other.example/‹"),
        URLRow(url: "https://canary-1:canary-2@other.example/", shows: "@other.example/\""),
        URLRow(url: "https://2025550123.example/token", shows: "\"https://‹visible 18 "),
        URLRow(url: "canary-1://other.example/", shows: "\"token_endpoint\":\"‹uri 25 "),
        URLRow(url: "https://canary-1 canary-2/", shows: "\"https://‹ascii 17 "),
        URLRow(url: "canary-1", shows: "\"token_endpoint\":\"‹word 8 "),
    ]

    @Test("A capsule shows the scheme and host of a URL in discovery, and nothing else of it", arguments: urlRows)
    func urls(row: URLRow) async throws {
        try await SignInHarness.with { harness in
            harness.simulator.update(SignInHarness.mccmnc) { carrier in
                carrier.tampering.objects[.discovery, default: []].append { $0["token_endpoint"] = .string(row.url) }
            }
            let answer = try await harness.app.signIn(harness.authorizedResponse())
            let id = try #require(answer.json["correlation_id"]?.string)
            let text = try await admin(harness) { try await $0.capsule(of: id).json[0] }
            #expect(text.contains(row.shows), "\(text)")
            #expect(!text.contains("canary") && !text.contains("2025550123"), "\(text)")
        }
    }

    @Test("A capsule shows the parts of a signed userinfo response, and no claim of it")
    func signedUserInfo() async throws {
        try await SignInHarness.with { harness in
            let part = Base64URL.encode(Array(#"{"alg":"RS256","kid":"canary-1","sub":"canary-2"}"#.utf8))
            harness.simulator.update(SignInHarness.mccmnc) { carrier in
                carrier.tampering.responses[.userInfo, default: []].append { response in
                    response = Response(status: .ok, contentType: "application/jwt", text: "\(part).\(part).AAAA")
                }
            }
            var fields = try harness.authorizedResponse(scope: "openid name email")
            fields["scope"] = "openid name email"
            let answer = try await harness.app.signIn(fields)
            let id = try #require(answer.json["correlation_id"]?.string)
            let text = try await admin(harness) { try await $0.capsule(of: id).json[0] }
            #expect(text.contains(#""token":{"header":{"alg":"RS256","kid":"‹word 8 "#), "\(text)")
            #expect(text.contains(#""signature_bytes":3,"verifies":false}"#), "\(text)")
            for value in [part, "canary"] { #expect(!text.contains(value), "\(text)") }
        }
    }

    @Test("A capsule that cannot be read hides no other one")
    func unreadable() async throws {
        try await SignInHarness.with { harness in
            let (_, answer) = try await fail(harness, .idTokenExpired)
            let id = try #require(answer.json["correlation_id"]?.string)
            try DatabaseProbe(path: harness.configuration.database.url.path ?? "").change(
                "INSERT INTO capsules (correlation_id, time, content) VALUES ('other', 0, '{\"a\":')")
            try await admin(harness) { admin in
                let lines = try await admin.capsules(limit: 10).text
                #expect(lines.count == 2 && lines[0].contains(id) && lines[1].contains("cannot be read"), "\(lines)")
                let json = try await admin.capsules(limit: 10).json
                #expect(json.last == #"{"correlation_id":"other","unreadable":true}"#)
                await #expect(throws: AdministratorError.self) { try await admin.capsule(of: "other") }
            }
        }
    }

    @Test("A repeated request that is refused as before leaves no second capsule")
    func repeated() async throws {
        try await SignInHarness.with { harness in
            let (fields, _) = try await fail(harness, .idTokenExpired)
            #expect(try await harness.app.signIn(fields).status >= 400)
            #expect(try await admin(harness) { try await $0.capsules(limit: 10).text }.count == 1)
        }
    }

    @Test("While the database is locked, few capsules wait for it, and each is counted")
    func locked() async throws {
        try await SignInHarness.with { harness in
            harness.simulator.update(SignInHarness.mccmnc) { $0.faults = [.tokenInvalidGrant] }
            let requests = try (0..<12).map { _ in try harness.authorizedResponse() }
            try await DatabaseProbe(path: harness.configuration.database.url.path ?? "").whileLocked {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for fields in requests {
                        group.addTask {
                            let answer = try await harness.app.signIn(fields)
                            #expect(answer.status >= 400)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            await harness.service.settleCapsules()
            let metrics = try await harness.app.metrics()
            #expect(metrics.sum("latchkey_capsules_total", #"outcome="dropped""#) >= 1)
            let all = ["dropped", "stored", "failed"].reduce(0) { sum, outcome in
                sum + metrics.sum("latchkey_capsules_total", "outcome=\"\(outcome)\"")
            }
            #expect(all == 12)
        }
    }

    @Test("A word of the cause as the name of a member does not hide the cause")
    func memberNames() async throws {
        try await SignInHarness.with { harness in
            harness.simulator.update(SignInHarness.mccmnc) { carrier in
                carrier.tampering.objects[.token, default: []].append { tokens in
                    tokens["id_token"] = nil
                    for name in ["endpoint's", "response"] { tokens[name] = 1 }
                }
            }
            _ = try await harness.app.signIn(harness.authorizedResponse())
            let capsule = try #require(try await harness.capsules().first)
            #expect(capsule.cause == "The token endpoint's response has no id_token.")
        }
    }

    @Test("Whatever a carrier sends, a capsule is bounded")
    func bounded() async throws {
        try await SignInHarness.with { harness in
            // Values that are each replaced by a longer pseudonym.
            harness.simulator.update(SignInHarness.mccmnc) { carrier in
                carrier.tampering.objects[.token, default: []].append { tokens in
                    let inner = JSONValue.object(of: (0..<60).map { ("m\($0)", .string("v\($0)")) })
                    for number in 0..<30 { tokens["m\(number)"] = inner }
                    tokens["token_type"] = .string("another")
                }
            }
            let answer = try await harness.app.signIn(harness.authorizedResponse())
            let id = try #require(answer.json["correlation_id"]?.string)
            let text = try await admin(harness) { try await $0.capsule(of: id).json[0] }
            #expect(text.utf8.count <= 32 * 1024)
            #expect(text.contains(#""code":"carrier_error""#))
        }
    }
}
