import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

extension ConformanceRun {
    /// Checks that the capsule of every failed sign-in names its cause, and that no capsule contains a secret.
    func expectCapsules(of answers: [App.Answer]) async throws {
        for capsule in try await harness.store.capsules(of: nil, limit: 20) {
            #expect(!secretsHeard(in: capsule.json), "\(row.id): \(capsule.json)")
            for canary in ConformanceHarness.canaries {
                #expect(!capsule.json.contains(canary), "\(row.id): \(canary) in \(capsule.json)")
            }
        }
        // The response of a browser's sign-in has no correlation id, and the other flows leave no capsule.
        guard row.flow == .code, [.rejected, .upstream, .configuration].contains(row.verdict) else { return }
        for answer in answers where answer.status != 200 { try await expectCapsule(of: answer) }
    }

    private func expectCapsule(of answer: App.Answer) async throws {
        let correlationID = try #require(answer.json["correlation_id"]?.string, "\(row.id)")
        let found = try await harness.store.capsules(of: correlationID, limit: 1).first
        let record = try #require(found, "\(row.id): no capsule of \(answer.response.text)")
        #expect(record.json.utf8.count <= 32 * 1024)
        let capsule = try #require(try JSONValue(parsing: Array(record.json.utf8)).object)
        let failure = try #require(capsule["failure"]?.object)
        let code = try #require(failure["code"]?.string)
        #expect(failure["cause"]?.string?.isEmpty == false, "\(row.id): \(record.json)")
        if code != "refused_by_carrier" { #expect(code == answer.error, "\(row.id)") }
        guard code == "invalid_id_token" else { return }
        let check = try #require(failure["check"]?.string, "\(row.id)")
        #expect(answer.json["error_description"]?.string?.contains("(\(check))") == true, "\(row.id): \(check)")
        // These are not among the checks of the token that was signed.
        guard check != "encryption", check != "userinfo_subject" else { return }
        let checks = capsule["checks"]?.object?["results"]?.array ?? []
        let failed = checks.first { $0.object?["verdict"]?.string == "failed" }
        #expect(failed?.object?["check"]?.string == check, "\(row.id): \(record.json)")
    }
}

extension ConformanceHarness {
    /// Personal values of the carriers' users, and the client's secret.
    static let canaries = [
        "jane", "Jane", "@example", "12025550", "2025550123", ConformanceHarness.secret,
    ]
}
