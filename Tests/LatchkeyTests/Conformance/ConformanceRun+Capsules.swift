import Capsules
import HTTPServer
import Primitives
import Storage
import StorageModel
import TestSupport
import Testing

extension ConformanceRun {
    /// The newest capsule; nil if there is none.
    func newestCapsule() async throws -> CapsuleRecord? { try await harness.store.capsules(of: nil, limit: 1).first }

    /// Checks that every failure has left a capsule that names its cause, and that no capsule contains a secret.
    /// - Parameter earlier: The newest capsule before the case.
    func expectCapsules(of answers: [App.Answer], after earlier: CapsuleRecord?) async throws {
        let capsules = try await capsules(of: answers, after: earlier)
        for capsule in capsules {
            try check(capsule)
            try expectReplay(of: capsule)
        }
        switch row.verdict {
        // Steps may have a failure before the success.
        case .signedIn, .loggedOut: #expect(capsules.isEmpty || row.steps != nil, "\(row.id): \(capsules.map(\.json))")
        // The sign-in waits for another notification: the refused one has left its capsule.
        case .waiting: #expect(capsules.count == 1, "\(row.id): \(capsules.map(\.json))")
        case .rejected, .upstream, .configuration, .request, .callback, .unexpected:
            let failed = failed(answers)
            #expect(!failed.isEmpty, "\(row.id)")
            var kept = 0
            for answer in failed {
                guard let failure = Failure(answer) else { continue }
                let own = capsules.filter { $0.correlationID == failure.id }
                // Of failures at the same time, four are kept.
                guard let capsule = own.first else { continue }
                kept += 1
                #expect(own.count == 1, "\(row.id): \(own.map(\.json))")
                try check(capsule, names: failure)
            }
            #expect(kept >= min(failed.count, 4), "\(row.id): \(kept) capsules of \(failed.count) failures")
        }
    }

    /// The responses that have a capsule. A repeated code is refused as before, and leaves no second one.
    private func failed(_ answers: [App.Answer]) -> ArraySlice<App.Answer> {
        answers.filter { Failure($0) != nil }.prefix(row.id.hasPrefix("code-once") ? 1 : .max)
    }

    /// The capsules since an earlier one, once those of the responses are there. A response does not wait long for its
    /// capsule.
    private func capsules(
        of answers: [App.Answer], after earlier: CapsuleRecord?
    ) async throws -> ArraySlice<CapsuleRecord> {
        let expected: Int
        switch row.verdict {
        case .signedIn, .loggedOut: expected = 0
        case .waiting: expected = 1
        case .rejected, .upstream, .configuration, .request, .callback, .unexpected:
            expected = min(failed(answers).count, 4)
        }
        var capsules: ArraySlice<CapsuleRecord> = []
        try await until {
            capsules = try await newCapsules(after: earlier)
            return capsules.count >= expected
        }
        return capsules
    }

    /// Reads no more of the hundreds of capsules of other cases than it must.
    private func newCapsules(after earlier: CapsuleRecord?) async throws -> ArraySlice<CapsuleRecord> {
        var limit = 8
        while true {
            let newest = try await harness.store.capsules(of: nil, limit: limit)
            let new = newest.prefix { $0 != earlier }
            guard new.count == limit else { return new }
            limit *= 4
        }
    }

    /// What a caller is told of a failure.
    private struct Failure {
        /// The correlation id, or the request id where there is none.
        let id: String
        /// Nil where a browser gets a page.
        let error: String?
        let description: String

        /// Nil for a success.
        init?(_ answer: App.Answer) {
            let told = Browser.query(of: answer.response["location"] ?? "")
            if answer.status == 303 {
                guard told["status"] == "failure" else { return nil }
                id = told["correlation_id"] ?? ""
                error = told["error"]
                description = told["error_description"] ?? ""
            } else {
                guard answer.status != 200 else { return nil }
                id = answer.json["correlation_id"]?.string ?? answer.response["x-request-id"] ?? ""
                error = answer.error
                description = answer.json["error_description"]?.string ?? ""
            }
        }
    }

    /// What every capsule of the case must be.
    private func check(_ capsule: CapsuleRecord) throws {
        #expect(!secretsHeard(in: capsule.json), "\(row.id): \(capsule.json)")
        // The id is random, and may contain a name.
        let content = capsule.json.replacing(capsule.correlationID, with: "")
        for canary in ConformanceHarness.canaries {
            #expect(!content.contains(canary), "\(row.id): \(canary) in \(capsule.json)")
        }
        #expect(capsule.json.utf8.count <= 32 * 1024)
        let json = try #require(try JSONValue(parsing: Array(capsule.json.utf8)).object)
        #expect(json["correlation_id"]?.string == capsule.correlationID)
        #expect(json["failure"]?.object?["cause"]?.string?.isEmpty == false, "\(row.id): \(capsule.json)")
        #expect(json["request"]?.object?["flow"]?.string == flow, "\(row.id): \(capsule.json)")
    }

    private var flow: String {
        guard row.verdict != .request || row.steps == nil else { return "backchannel_logout" }
        return switch row.flow {
        case .code: "code"
        case .redirect: "redirect"
        case .phone: "backchannel_authentication"
        case .transaction: "transaction"
        }
    }

    /// Checks that a capsule names the cause of a failure.
    private func check(_ record: CapsuleRecord, names failure: Failure) throws {
        let capsule = try #require(try JSONValue(parsing: Array(record.json.utf8)).object)
        let found = try #require(capsule["failure"]?.object)
        let code = try #require(found["code"]?.string)
        if let error = failure.error, code != "refused_by_carrier" { #expect(code == error, "\(row.id)") }
        if row.isLogout {
            let check = try #require(found["check"]?.string, "\(row.id): \(record.json)")
            #expect(failure.description.contains("(\(check))"), "\(row.id): \(check)")
            let request = try #require(capsule["request"]?.object)
            #expect(request["checks"]?.object?[check]?.string == "failed", "\(row.id): \(record.json)")
            #expect(request["claims"]?.object?["jti"]?.string?.hasPrefix("‹") == true, "\(row.id): \(record.json)")
        }
        guard code == "invalid_id_token" else { return }
        let check = try #require(found["check"]?.string, "\(row.id)")
        #expect(failure.description.contains("(\(check))"), "\(row.id): \(check)")
        // These are not among the checks of the token that was signed.
        guard !["encryption", "userinfo_subject", "same_user"].contains(check) else { return }
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
