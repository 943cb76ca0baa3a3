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
        var failed = answers.filter { $0.status != 200 }[...]
        // A repeated code is refused as before, and leaves no second capsule.
        if row.id.hasPrefix("code-once") { failed = failed.prefix(1) }
        // Of failures at the same time, four are kept.
        var kept = 0
        for answer in failed where try await hasCapsule(answer) { kept += 1 }
        #expect(kept >= min(failed.count, 4), "\(row.id): \(kept) capsules of \(failed.count) failures")
    }

    /// Checks the capsule of a failed sign-in; false if there is none.
    private func hasCapsule(_ answer: App.Answer) async throws -> Bool {
        let correlationID = try #require(answer.json["correlation_id"]?.string, "\(row.id)")
        guard let record = try await harness.store.capsules(of: correlationID, limit: 1).first else { return false }
        #expect(record.json.utf8.count <= 32 * 1024)
        let capsule = try #require(try JSONValue(parsing: Array(record.json.utf8)).object)
        let failure = try #require(capsule["failure"]?.object)
        let code = try #require(failure["code"]?.string)
        #expect(failure["cause"]?.string?.isEmpty == false, "\(row.id): \(record.json)")
        if code != "refused_by_carrier" { #expect(code == answer.error, "\(row.id)") }
        guard code == "invalid_id_token" else { return true }
        let check = try #require(failure["check"]?.string, "\(row.id)")
        #expect(answer.json["error_description"]?.string?.contains("(\(check))") == true, "\(row.id): \(check)")
        // These are not among the checks of the token that was signed.
        guard check != "encryption", check != "userinfo_subject" else { return true }
        let checks = capsule["checks"]?.object?["results"]?.array ?? []
        let failed = checks.first { $0.object?["verdict"]?.string == "failed" }
        #expect(failed?.object?["check"]?.string == check, "\(row.id): \(record.json)")
        return true
    }
}

extension ConformanceHarness {
    /// Personal values of the carriers' users, and the client's secret.
    static let canaries = [
        "jane", "Jane", "@example", "12025550", "2025550123", ConformanceHarness.secret,
    ]
}
