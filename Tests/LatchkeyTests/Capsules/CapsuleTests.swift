import CarrierSimulator
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

        var testDescription: String { fault.rawValue }
    }

    private static let rows: [Row] = [
        Row(
            fault: .idTokenExpired, code: "invalid_id_token", check: "expiry",
            shows: #""check":"expiry","verdict":"failed","expected":{"after":"#),
        Row(
            fault: .idTokenWrongNonce, code: "invalid_id_token", check: "nonce",
            shows: #""check":"nonce","verdict":"failed","expected":"‹text 22 "#),
        Row(
            fault: .idTokenOtherAudience, code: "invalid_id_token", check: "audience",
            shows: #""check":"audience","verdict":"failed","expected":"ccid-1","found":{"aud":"‹text "#),
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
    ) async throws -> Value {
        let admin = try AdminService(harness.configuration)
        let result: Result<Value, any Error>
        do { result = .success(try await body(admin)) } catch { result = .failure(error) }
        await admin.close()
        return try result.get()
    }

    @Test("A capsule names the cause of a failure, what was expected and found, and nothing personal", arguments: rows)
    func cause(row: Row) async throws {
        try await SignInHarness.with { harness in
            let (fields, answer) = try await fail(harness, row.fault)
            let id = try #require(answer.json["correlation_id"]?.string)
            let text = try await admin(harness) { try await $0.exportCapsule(of: id) }
            let capsule = try #require(try JSONValue(parsing: Array(text.utf8)).object)
            let failure = try #require(capsule["failure"]?.object)
            #expect(failure["code"]?.string == row.code)
            #expect(failure["check"]?.string == row.check)
            #expect(failure["provider_code"]?.string == row.providerCode)
            #expect(failure["cause"]?.string?.isEmpty == false)
            #expect(text.contains(row.shows), "\(text)")
            #expect(capsule["metadata"]?.object?["age_seconds"]?.integer.map { (0...60).contains($0) } == true)
            let secrets = ["code", "code_verifier", "nonce"].compactMap { fields[$0] }
            for canary in Self.canaries + secrets { #expect(!text.contains(canary), "\(canary) in \(text)") }
        }
    }

    @Test("The commands find a capsule by its correlation id, and say so if there is none")
    func commands() async throws {
        try await SignInHarness.with { harness in
            let (_, answer) = try await fail(harness, .idTokenExpired)
            let id = try #require(answer.json["correlation_id"]?.string)
            try await admin(harness) { admin in
                let lines = try await admin.capsules(limit: 10, as: .text)
                #expect(lines.count == 1)
                let failure = "code=invalid_id_token check=expiry step=validate"
                #expect(lines.first?.hasSuffix(" \(id) zenkey \(failure)") == true, "\(lines)")
                let json = try await admin.exportCapsule(of: id)
                #expect(try await admin.capsules(limit: 10, as: .json) == [json])
                let shown = try await admin.capsule(of: id)
                #expect(shown.contains("failure.check: expiry"))
                #expect(shown.contains { $0.hasPrefix("check expiry             failed       expected {\"after\":") })
                await #expect(throws: OperatorFailure.self) { try await admin.capsule(of: "another") }
                await #expect(throws: OperatorFailure.self) { try await admin.capsules(limit: 0, as: .text) }
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
            #expect(try await admin(harness) { try await $0.capsules(limit: 10, as: .text) }.isEmpty)
        }
    }

    @Test("capsules.count 0 makes none")
    func off() async throws {
        try await SignInHarness.with(configure: { $0.capsules.count = 0 }) { harness in
            _ = try await fail(harness, .idTokenExpired)
            #expect(try await admin(harness) { try await $0.capsules(limit: 10, as: .text) }.isEmpty)
        }
    }

    @Test("A minute has capsules.per_minute capsules; the rest is counted")
    func limited() async throws {
        let clock = ManualClock()
        try await SignInHarness.with(clock: clock.wallClock, configure: { $0.capsules.maximumPerMinute = 2 }) {
            harness in
            for _ in 0..<3 { _ = try await fail(harness, .tokenInvalidGrant) }
            #expect(try await admin(harness) { try await $0.capsules(limit: 10, as: .text) }.count == 2)
            clock.advance(bySeconds: 60)
            _ = try await fail(harness, .tokenInvalidGrant)
            #expect(try await admin(harness) { try await $0.capsules(limit: 10, as: .text) }.count == 3)
            let metrics = try await harness.app.metrics()
            #expect(metrics.sum("latchkey_capsules_total", #"outcome="dropped""#) == 1)
            #expect(metrics.sum("latchkey_capsules_total", #"outcome="stored""#) == 3)
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
            let text = try await admin(harness) { try await $0.exportCapsule(of: id) }
            #expect(text.utf8.count <= 32 * 1024)
            #expect(text.contains(#""code":"carrier_error""#))
        }
    }
}
